package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// stocked is a ledger with an index of its suppliers, a stretch for every four.
func stocked(t *testing.T, o Options) *Ledger {
	t.Helper()
	l := openHere(t, o)
	l.IndexOf(4, 6)
	for n := range 3 {
		mustCompare(t, l, twoRows("organisation", fmt.Sprintf("Kijani%d Tea Exporters Ltd", n), fmt.Sprintf("Kijani%d Tea Exporters Limited", n)))
	}
	return l
}

var newcomer = canon.Obj("name", "Kijani1 Tea Exporters")

// asksCold is what a new process would go by for the newcomer.
func asksCold(ctx context.Context, l *Ledger) (string, error) {
	l.Forgets()
	return l.Matched(ctx, newcomer, "organisation")
}

// TestForgedStretchesAreMadeAgain: a stretch that is whole and says that it was
// made of the stored records, but holds other values, is noticed by what it
// finds, and made again.
func TestForgedStretchesAreMadeAgain(t *testing.T) {
	var said bytes.Buffer
	l, ctx := stocked(t, Options{Log: slog.New(slog.NewTextHandler(&said, nil))}), t.Context()
	want, err := asksCold(ctx, l)
	if err != nil || !strings.Contains(want, "matches") {
		t.Fatal(want, err)
	}
	list := l.state.byType[l.state.words.put("organisation")][:4]
	source, _ := l.state.sourceOf(list)
	m, err := resolve.NewPartMaker("organisation", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for range list { // all of them have the newcomer's name here
		if err := m.Add(newcomer); err != nil {
			t.Fatal(err)
		}
	}
	err = l.store.Use(ctx, func(db *duck.DB) error {
		return l.store.Write(ctx, db, 1, func() error {
			return db.Exec(ctx, `UPDATE index_parts SET part = ? WHERE first = 0`, m.Bytes(source))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // made again in the file too
		got, err := asksCold(ctx, l)
		if err != nil || got != want {
			t.Errorf("%v\n%s", err, differingLines(want, got))
		}
	}
	if n := strings.Count(said.String(), "differs from the stored records"); n != 1 {
		t.Errorf("said %d times: %s", n, said.String())
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestUnwritableIndexServesTheCall: stretches that cannot be put into the file
// serve the call that made them.
func TestUnwritableIndexServesTheCall(t *testing.T) {
	var said bytes.Buffer
	failing := ""
	l := stocked(t, Options{Log: slog.New(slog.NewTextHandler(&said, nil)), Fault: func(op string) error {
		if op == failing {
			return errors.New("IO Error: Could not write file: Input/output error")
		}
		return nil
	}})
	want, err := asksCold(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"insert", "exec", "commit"} {
		if err := l.store.Use(t.Context(), func(db *duck.DB) error { return db.Exec(t.Context(), "DELETE FROM index_parts") }); err != nil {
			t.Fatal(err)
		}
		said.Reset()
		failing = op
		got, err := asksCold(t.Context(), l)
		failing = ""
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s", op, err, differingLines(want, got))
		}
		if op != "exec" && !strings.Contains(said.String(), "could not be written") {
			t.Errorf("%s: nothing was said: %q", op, said.String())
		}
	}
	if got, err := asksCold(t.Context(), l); err != nil || got != want {
		t.Errorf("afterwards: %v\n%s", err, differingLines(want, got))
	}
}

// TestIndexStopsWithItsCall ends the context at each question it is asked while
// the index is made: the call fails as cancelled or is done, and nothing wrong stays.
func TestIndexStopsWithItsCall(t *testing.T) {
	l := stocked(t, Options{})
	want, err := asksCold(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	for n := 1; n < 200; n++ {
		if err := l.store.Use(t.Context(), func(db *duck.DB) error { return db.Exec(t.Context(), "DELETE FROM index_parts") }); err != nil {
			t.Fatal(err)
		}
		ctx := arctest.NewCountdown(t.Context(), n)
		got, err := asksCold(ctx, l)
		switch {
		case err == nil && got != want:
			t.Errorf("question %d: another answer\n%s", n, differingLines(want, got))
		case err != nil && !errors.Is(err, context.Canceled):
			t.Errorf("question %d: %v", n, err)
		}
		if !ctx.Ended() {
			break
		}
		ended++
	}
	if ended < 10 {
		t.Errorf("only %d contexts ended", ended)
	}
	if got, err := asksCold(t.Context(), l); err != nil || got != want {
		t.Errorf("afterwards: %v\n%s", err, differingLines(want, got))
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestIndexOfDamagedContents: contents that are gone or exchanged are named, not
// left out of what a newcomer meets.
func TestIndexOfDamagedContents(t *testing.T) {
	l := stocked(t, Options{})
	if _, err := l.Matched(t.Context(), newcomer, "no such pack"); !fault.Is(err, fault.Invalid) {
		t.Errorf("no pack: %v", err)
	}
	for name, sql := range map[string]string{
		"gone":                "DELETE FROM blobs WHERE seq = 1",
		"others":              "UPDATE blobs SET bytes = '{}'::BLOB WHERE seq = 1",
		"gone behind them":    "DELETE FROM blobs WHERE seq = 10",
		"others behind them ": "UPDATE blobs SET bytes = '{}'::BLOB WHERE seq = 10",
	} {
		within(t, l, func() {
			if got, err := asksCold(t.Context(), l); !errors.Is(err, ErrAltered) {
				t.Errorf("%s: %v %s", name, err, got)
			}
		}, sql, "DELETE FROM index_parts")
	}
	within(t, l, func() { // with the index only what matched is read
		if got, err := asksCold(t.Context(), l); !errors.Is(err, ErrAltered) {
			t.Errorf("what matched is gone: %v %s", err, got)
		}
	}, "DELETE FROM blobs")
}
