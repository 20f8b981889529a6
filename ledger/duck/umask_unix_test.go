//go:build unix

package duck

import (
	"syscall"
	"testing"
)

// TestMaskComesBack: files are private while anybody asks for it, and the
// process has its own mask again afterwards.
func TestMaskComesBack(t *testing.T) {
	before := syscall.Umask(0o022)
	defer syscall.Umask(before)
	mask := func() int {
		m := syscall.Umask(0)
		syscall.Umask(m)
		return m
	}
	first, second := private(), private()
	for _, step := range []struct {
		done func()
		want int
	}{{func() {}, 0o077}, {first, 0o077}, {second, 0o022}} {
		step.done()
		if got := mask(); got != step.want {
			t.Errorf("mask %03o, want %03o", got, step.want)
		}
	}
}
