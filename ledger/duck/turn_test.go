package duck_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// TestTurnOutlastsTheChangeOfHands: a process that others wait for works twice as
// long as it took to get the file, or most of the time goes into taking turns.
func TestTurnOutlastsTheChangeOfHands(t *testing.T) {
	s, err := duck.OpenStore(filepath.Join(t.TempDir(), "l.duckdb"), duck.Options{Lease: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Use(context.Background(), func(*duck.DB) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s.Entry() <= 0 || s.Turn() < min(2*s.Entry(), 250*time.Millisecond) {
		t.Errorf("a turn of %v after taking the file for %v", s.Turn(), s.Entry())
	}
	for _, tt := range []struct{ entry, want time.Duration }{
		{0, time.Millisecond}, {30 * time.Millisecond, 60 * time.Millisecond}, {time.Hour, 250 * time.Millisecond},
	} {
		if s.SetEntry(tt.entry); s.Turn() != tt.want {
			t.Errorf("a turn of %v when taking the file costs %v, want %v", s.Turn(), tt.entry, tt.want)
		}
	}
}
