package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// supplierLists makes two lists of n suppliers: matches by name, and every fifth an
// ordinary name that stays open.
func supplierLists(from, n int) resolve.Request {
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	for i := from; i < from+n; i++ {
		sum := blake3.Sum256(fmt.Append(nil, i))
		name := fmt.Sprintf("%s %x", words[i%len(words)], sum[:4])
		if i%5 == 0 {
			name = fmt.Sprintf("Central Cooperative Society %s", []string{"North", "South", "East", "West"}[i/5%4])
		}
		city := fmt.Sprintf("City%d", i%97)
		req.A = append(req.A, canon.Obj("id", fmt.Sprintf("a%d", i), "name", name+" Ltd", "city", city, "registration_id", fmt.Sprintf("RC%d", i)))
		req.B = append(req.B, canon.Obj("id", fmt.Sprintf("b%d", i), "name", name+" Limited", "city", city, "phone", fmt.Sprintf("07%08d", i)))
	}
	return req
}

// stocked is a ledger file with n records of suppliers, made once a process.
func stocked(b *testing.B, n int) (l *ledger.Ledger, path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "a.duckdb")
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	const step = 250
	for from := 0; from < n/2; from += step {
		if _, err := l.Compare(context.Background(), supplierLists(from, step)); err != nil {
			b.Fatal(err)
		}
	}
	return l, path
}

// BenchmarkStocked measures each verb on a ledger of 10,000 records, or of
// ARCHE_SCALE records.
func BenchmarkStocked(b *testing.B) {
	n := 10_000
	if s := os.Getenv("ARCHE_SCALE"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	l, path := stocked(b, n)
	ctx := context.Background()
	ents, err := l.Entities(ctx, "")
	if err != nil {
		b.Fatal(err)
	}
	cases, err := l.Cases(ctx, "")
	if err != nil {
		b.Fatal(err)
	}
	_, events, _, err := l.Head(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d events, %v entities, %v cases", events, ents.Value("count"), cases.Value("count"))
	if _, err := l.Resolve(ctx, canon.Obj("name", "Nobody Knows"), "organisation"); err != nil { // builds the index
		b.Fatal(err)
	}
	open := cases.Value("cases").([]any)
	at := func(i int) *canon.Object { return open[i%len(open)].(*canon.Object) }
	id := func(i int) string { return at(i).Value("decision_id").(string) }
	rec := func(i int, side string) string {
		return at(i).Value(side).(*canon.Object).Value("record_id").(string)
	}
	members := func(i int) (string, string) {
		list := ents.Value("entities").([]any)
		recs := list[i%len(list)].(*canon.Object).Value("records").([]any)
		return recs[0].(*canon.Object).Value("record_id").(string), recs[1].(*canon.Object).Value("record_id").(string)
	}
	k := 0
	run := func(name string, fn func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k++
				if err := fn(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("entities", func() error { _, err := l.Entities(ctx, ""); return err })
	run("cases", func() error { _, err := l.Cases(ctx, ""); return err })
	run("decision", func() error { _, err := l.Decision(ctx, id(k)); return err })
	run("explain", func() error { _, err := l.Explain(ctx, id(k)); return err })
	run("path", func() error { x, y := members(k); _, err := l.Path(ctx, x, y); return err })
	run("resolve", func() error {
		sum := blake3.Sum256(fmt.Append(nil, k*7%(n/2)))
		_, err := l.Resolve(ctx, canon.Obj("name", fmt.Sprintf("%s %x", words[k*7%(n/2)%len(words)], sum[:4]), "k", k), "organisation")
		return err
	})
	run("observe", func() error {
		_, err := l.Observe(ctx, rec(k*13, "a"), canon.Obj("remark", fmt.Sprintf("seen %d", k)))
		return err
	})
	run("pair", func() error { _, err := l.Compare(ctx, pair(k+n)); return err })
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	run("open and decision", func() error {
		l, err := ledger.Open(path, ledger.Options{})
		if err != nil {
			return err
		}
		defer l.Close()
		_, err = l.Decision(ctx, id(k))
		return err
	})
}
