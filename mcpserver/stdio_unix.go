//go:build unix

package mcpserver

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readerGone reports whether out is a pipe whose other end is closed: then no
// answer can be delivered any more.
func readerGone(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}} //nolint:gosec // a descriptor fits
		if n, err := unix.Poll(fds, 0); err == nil && n > 0 {
			gone = fds[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0
		}
	})
	return err == nil && gone
}
