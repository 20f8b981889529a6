//go:build unix

package duck

import (
	"sync"
	"syscall"
)

var umask struct {
	sync.Mutex
	users int
	old   int
}

// private makes files that DuckDB creates until the returned function is called
// readable by their owner alone. DuckDB has no option for the mode, and a file
// cannot be made beforehand, because an empty one is no database to it. The
// mask is the process's: files that others make meanwhile are private too.
func private() func() {
	umask.Lock()
	defer umask.Unlock()
	if umask.users == 0 {
		umask.old = syscall.Umask(0o077)
	}
	umask.users++
	return func() {
		umask.Lock()
		defer umask.Unlock()
		umask.users--
		if umask.users == 0 {
			syscall.Umask(umask.old)
		}
	}
}
