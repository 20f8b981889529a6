package arctest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Fault fails one operation of a run: the N-th that Match takes, counted from 1,
// while it is on; with Onward all later ones too, as for a process that dies
// there. Its method Ask is what packages take as their fault seam.
type Fault struct {
	N      int
	Err    error
	Onward bool
	Match  func(op string) bool // nil takes every operation
	Off    bool                 // nothing is failed or counted meanwhile

	n   int
	Hit string // the operation that was failed first, "" when there were fewer than N
}

// Ask answers for one operation.
func (f *Fault) Ask(op string) error {
	if f.Off || f.Match != nil && !f.Match(op) {
		return nil
	}
	f.n++
	if f.n < f.N || f.n > f.N && !f.Onward {
		return nil
	}
	if f.Hit == "" {
		f.Hit = op
	}
	return f.Err
}

// String says what is failed and how.
func (f *Fault) String() string {
	how := "operation"
	if f.Onward {
		how = "from operation"
	}
	return fmt.Sprintf("%s %d (%s): %v", how, f.N, f.Hit, f.Err)
}

// OfFiles takes the changes of our own files: those of package disk and the head's.
func OfFiles(op string) bool { return strings.HasPrefix(op, "file.") || strings.HasPrefix(op, "head.") }

// Sweep runs a scenario once for every stride-th operation it makes, failing
// that one with an input/output error that passes, and for fewer with a full disk
// that stays. With ARCHE_LONG set it takes every operation, and each error both
// ways. It returns how many runs met a failure.
func Sweep(t testing.TB, stride int, match func(op string) bool, run func(f *Fault)) int {
	t.Helper()
	hits, long := 0, os.Getenv("ARCHE_LONG") != ""
	for _, x := range []struct {
		err    error
		onward bool
		long   bool
	}{
		{syscall.EIO, false, false}, {syscall.ENOSPC, true, false}, {syscall.EIO, true, true}, {syscall.ENOSPC, false, true},
	} {
		step := stride
		switch {
		case long:
			step = 1
		case x.long:
			continue
		case x.onward:
			step = 2*stride + 1
		}
		for n := 1; !t.Failed(); n += step {
			f := &Fault{N: n, Err: x.err, Onward: x.onward, Match: match}
			run(f)
			if f.Hit == "" {
				break
			}
			hits++
		}
	}
	return hits
}
