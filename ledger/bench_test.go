package ledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// BenchmarkRecordedPair is one comparison of two new records, recorded durably.
func BenchmarkRecordedPair(b *testing.B) {
	l, err := ledger.Open(filepath.Join(b.TempDir(), "a.duckdb"), ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	n := 0
	for b.Loop() {
		n++
		if _, err := l.Compare(context.Background(), pair(n)); err != nil {
			b.Fatal(err)
		}
	}
}

// list makes two lists of n suppliers that match one to one.
func list(n int) resolve.Request {
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	for i := range n {
		name := fmt.Sprintf("%s%d %s", words[i%len(words)], i, words[(i/7)%len(words)])
		req.A = append(req.A, canon.Obj("id", fmt.Sprintf("a%d", i), "name", name+" Ltd", "city", "Nairobi"))
		req.B = append(req.B, canon.Obj("id", fmt.Sprintf("b%d", i), "name", name+" Limited", "city", "Nairobi"))
	}
	return req
}

var words = []string{"Kijani", "Zentari", "Harmuko", "Lumora", "Tavessa", "Okinaro", "Velmara", "Suraki", "Brintal", "Quenza", "Dovrani", "Maltex", "Ferosa"}

// BenchmarkRecordedBatch is a batch of decisions on new records; it reports
// decisions a second, the engine's own time apart.
func BenchmarkRecordedBatch(b *testing.B) {
	const n = 5000
	req := list(n)
	for b.Loop() {
		b.StopTimer()
		l, err := ledger.Open(filepath.Join(b.TempDir(), "a.duckdb"), ledger.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.Entities(context.Background(), ""); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		res, err := l.Compare(context.Background(), req)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric(float64(len(res.Edges)), "decisions")
		_ = l.Close()
		b.StartTimer()
	}
}

// BenchmarkEngineAlone is what BenchmarkRecordedBatch spends in the engine.
func BenchmarkEngineAlone(b *testing.B) {
	req := list(5000)
	for b.Loop() {
		if _, err := resolve.Compare(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
}
