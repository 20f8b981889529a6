//go:build !linux

package duck

import "os"

// datasync makes the written bytes durable.
func datasync(f *os.File) error { return f.Sync() }
