//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// cpuSeconds is the processor time of this process so far, all threads.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// peakMB is the largest resident size of this process so far.
func peakMB() int {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // bytes there, kilobytes elsewhere
		return int(u.Maxrss >> 20)
	}
	return int(u.Maxrss >> 10)
}
