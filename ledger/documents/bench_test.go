//go:build unix

package documents_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// The base of the benchmarks: 10,000 documents of 3,000 bytes and 20,000
// relations, kept between runs in the temporary folder of the test binary.
func benchBase(b *testing.B, n, relations int) string {
	b.Helper()
	root := filepath.Join(b.TempDir(), "base")
	layCorpus(b, root, n, 3000, relations)
	time.Sleep(2100 * time.Millisecond) // ctimes cannot be dated back; a fresh file is read again
	return root
}

func openBench(b *testing.B, root string) *documents.Base {
	b.Helper()
	base, err := documents.Open(documents.Options{Root: root, LedgerOptions: ledger.Options{Actor: "bench"}})
	if err != nil {
		b.Fatal(err)
	}
	return base
}

// median runs f for every iteration and reports the middle of its times.
func median(b *testing.B, f func() error) {
	b.Helper()
	var times []time.Duration
	before := cpuTime()
	for b.Loop() {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/1000/float64(len(times)), "cpu-ms")
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[0].Microseconds())/1000, "min-ms")
}

// cpuTime is what this process has used of the processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkWarm(b *testing.B) {
	root := benchBase(b, 10_000, 20_000)
	base := openBench(b, root)
	defer base.Close()
	if _, err := base.List(b.Context(), documents.ListRequest{}); err != nil {
		b.Fatal(err)
	}
	searches := map[string]documents.SearchRequest{
		"search rare word":   {Content: "quokka"},
		"search common word": {Content: "ledger"},
		"search three words": {Content: "kafka invoice región"},
		"search path":        {PathRef: "src/payment/"},
		"search status":      {Status: "accepted"},
		"search absent":      {Content: "zyzzyva"},
		"search phrase":      {Content: "ledger payment", Match: "exact"},
	}
	for _, name := range []string{"search rare word", "search common word", "search three words", "search path", "search status", "search absent", "search phrase"} {
		b.Run(name, func(b *testing.B) {
			median(b, func() error { o, err := base.Search(b.Context(), searches[name]); return encode(o, err) })
		})
	}
	b.Run("list", func(b *testing.B) {
		median(b, func() error {
			o, err := base.List(b.Context(), documents.ListRequest{})
			return encode(o, err)
		})
	})
	b.Run("list filtered", func(b *testing.B) {
		median(b, func() error {
			o, err := base.List(b.Context(), documents.ListRequest{Types: []string{"adr"}, Tags: []string{"team-3"}})
			return encode(o, err)
		})
	})
	b.Run("get", func(b *testing.B) {
		median(b, func() error {
			o, err := base.Get(b.Context(), ".archcore/"+corpusPath(77))
			return encode(o, err)
		})
	})
	b.Run("add relation", func(b *testing.B) {
		i := 0
		median(b, func() error {
			i++
			_, err := base.AddRelation(b.Context(), documents.RelationRequest{Source: corpusPath(i % 9000), Target: corpusPath(9999), Type: "supports"})
			return err
		})
	})
	b.Run("update", func(b *testing.B) {
		i := 0
		median(b, func() error {
			i++
			_, err := base.Update(b.Context(), documents.UpdateRequest{Path: ".archcore/" + corpusPath(i%9000), Content: "## Context\n\nnew " + time.Now().String()})
			return err
		})
	})
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
}

func encode(o *canon.Object, err error) error {
	if err != nil {
		return err
	}
	_, err = canon.Indent(o)
	return err
}

// BenchmarkCold is a start with nothing in memory: the first import into an
// empty ledger, then one that finds the ledger agreeing.
func BenchmarkCold(b *testing.B) {
	root := benchBase(b, 10_000, 20_000)
	first := func() error {
		base := openBench(b, root)
		defer base.Close()
		o, err := base.Search(b.Context(), documents.SearchRequest{Content: "ledger"})
		return encode(o, err)
	}
	b.Run("first import", func(b *testing.B) {
		median(b, func() error {
			if err := os.RemoveAll(filepath.Join(root, ".archcore", ".ledger")); err != nil {
				return err
			}
			return first()
		})
	})
	b.Run("start", func(b *testing.B) { median(b, first) })
}
