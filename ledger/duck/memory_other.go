//go:build !linux

package duck

// machineMB is the machine's memory in MB, 0 when unknown.
func machineMB() int { return 0 }
