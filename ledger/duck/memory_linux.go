package duck

import "golang.org/x/sys/unix"

// machineMB is the machine's memory in MB, 0 when unknown.
func machineMB() int {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int(uint64(info.Totalram) * uint64(info.Unit) >> 20) //nolint:gosec,unconvert // a machine has less than 2^63 bytes; types differ by system
}
