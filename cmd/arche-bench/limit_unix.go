//go:build linux || darwin

package main

import (
	"os/signal"
	"syscall"
)

// limitFiles makes writes beyond a size fail in this process, as they do on a
// disk that is full, instead of ending it.
func limitFiles(size int64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &lim); err != nil {
		return err
	}
	lim.Cur = uint64(size) //nolint:gosec // not negative
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lim)
}
