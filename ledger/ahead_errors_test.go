package ledger

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// TestSpreadTellsTheFirstError: every part is worked on, and of several that
// failed the first in order is told.
func TestSpreadTellsTheFirstError(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	done := make([]bool, 64)
	err := spread(len(done), func(from, to int) error {
		for i := from; i < to; i++ {
			done[i] = true
		}
		if from == 0 {
			return nil
		}
		return fmt.Errorf("from %d", from)
	})
	if err == nil || err.Error() != "from 16" {
		t.Errorf("told %v", err)
	}
	if slices.Contains(done, false) {
		t.Errorf("parts were left out: %v", done)
	}
	if err := spread(1, func(int, int) error { return errStopped }); !errors.Is(err, errStopped) {
		t.Errorf("of one part: %v", err)
	}
}
