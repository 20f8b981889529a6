//go:build unix

package duck

import "golang.org/x/sys/unix"

// FreeSpace is the space left for this user where a folder lies, in bytes.
func FreeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec,unconvert // block sizes are positive; the type differs by system
}
