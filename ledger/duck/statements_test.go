package duck_test

import (
	"path/filepath"
	"testing"

	"github.com/arche-ledger/arche/ledger/duck"
)

// TestErrorsOfStatements: what a statement with values meets is told, and nothing
// of it is there.
func TestErrorsOfStatements(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "a.duckdb"), duck.Options{})
	exec(t, s, "CREATE TABLE t(x BIGINT)")
	err := s.Use(t.Context(), func(db *duck.DB) error {
		return db.Exec(t.Context(), "INSERT INTO t VALUES (?::BIGINT)", "not a number")
	})
	if err == nil {
		t.Error("a text became a number")
	}
	if n := count(t, s, "t"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// TestHeadOfOneEvent: a log of one event is a log that was acknowledged.
func TestHeadOfOneEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	for _, seq := range []int64{0, 1, 2} {
		s := newStore(t, path, duck.Options{})
		if seq > 0 {
			if err := s.Use(t.Context(), func(*duck.DB) error { return s.Remember("main", seq, head(seq).Link) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = newStore(t, path, duck.Options{})
		if err := s.Use(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		if h, known := s.Head(); h.Seq != seq || known != (seq > 0) {
			t.Errorf("after event %d: %+v, known %v", seq, h, known)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
