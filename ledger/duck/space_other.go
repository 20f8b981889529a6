//go:build !unix

package duck

import "errors"

// FreeSpace is unknown on this system.
func FreeSpace(string) (uint64, error) { return 0, errors.New("free space is unknown on this system") }
