//go:build !unix

package main

// cpuSeconds and peakMB are not measured on this system.
func cpuSeconds() float64 { return 0 }

func peakMB() int { return 0 }
