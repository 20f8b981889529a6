package ledger_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// TestWrongIndexIsNotBelieved changes the index behind the program's back: the
// answer stays, verify names the stretch, and the next resolve mends it.
func TestWrongIndexIsNotBelieved(t *testing.T) {
	for name, sql := range map[string]string{
		"bit":       `UPDATE index_parts SET part = unhex(replace(hex(part), '6B696A616E69', '6B696A616E6A')) WHERE first = 0`,
		"cut":       `UPDATE index_parts SET part = unhex(left(hex(part), 100)) WHERE first = 4`,
		"empty":     `UPDATE index_parts SET part = NULL`,
		"other":     `UPDATE index_parts SET part = (SELECT part FROM index_parts WHERE first = 4) WHERE first = 0`,
		"swapped":   `UPDATE index_parts SET first = 8 - first WHERE first IN (0, 8)`,
		"beyond":    `UPDATE index_parts SET first = first + 1000`,
		"twice":     `INSERT INTO index_parts SELECT * FROM index_parts WHERE first = 4`,
		"overlaps":  `UPDATE index_parts SET n = n + 1 WHERE first = 0`,
		"shortened": `UPDATE index_parts SET n = n - 1 WHERE first = 4`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filePath(t)
			l := indexed(t, path, ledger.Options{})
			for n := range 6 {
				compare(t, l, pair(n))
			}
			var want []string
			ask := func(l *ledger.Ledger) (out []string) {
				for n := range 6 {
					out = append(out, matched(t, l, canon.Obj("name", fmt.Sprintf("Kijani%d Tea Exporters", n)), "organisation", true))
				}
				return out
			}
			want = ask(l)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			alter(t, path, sql)
			var said bytes.Buffer
			l = indexed(t, path, ledger.Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
			var report ledger.Report
			if err := l.Verify(t.Context(), &report); err == nil || report.Findings[0].Table != "index_parts" {
				t.Errorf("verify: %v", err)
			}
			if diff := cmp.Diff(want, ask(l)); diff != "" {
				t.Errorf("answers (-before +after)\n%s", diff)
			}
			if err := l.Verify(t.Context(), nil); err != nil {
				t.Errorf("it was not mended: %v", err)
			}
			if !strings.Contains(said.String(), "made again") {
				t.Errorf("nothing was said of it: %q", said.String())
			}
		})
	}
}

// TestIndexOfAnotherVersion is left alone and not believed.
func TestIndexOfAnotherVersion(t *testing.T) {
	path := filePath(t)
	l := indexed(t, path, ledger.Options{})
	for n := range 3 {
		compare(t, l, pair(n))
	}
	want := matched(t, l, canon.Obj("name", "Kijani1 Tea"), "organisation", true)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, path, `UPDATE index_parts SET form = '9' || form, part = 'x'`)
	l = indexed(t, path, ledger.Options{})
	var report ledger.Report
	if err := l.Verify(t.Context(), &report); err != nil || len(report.Notes) != 1 {
		t.Errorf("%v %v", err, report.Notes)
	}
	if diff := cmp.Diff(want, matched(t, l, canon.Obj("name", "Kijani1 Tea"), "organisation", true)); diff != "" {
		t.Error(diff)
	}
}
