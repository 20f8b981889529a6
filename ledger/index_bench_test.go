package ledger_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// cpu is the processor time of this process so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// indexScale is the number of records that the index is measured with: 40,000,
// or ARCHE_SCALE.
func indexScale(b *testing.B) int {
	b.Helper()
	s := os.Getenv("ARCHE_SCALE")
	if s == "" {
		return 40_000
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkIndexAppend is what keeping the index adds to a comparison of new
// records in batches: records a second of wall and processor time, with and
// without, and bytes of the index a record.
func BenchmarkIndexAppend(b *testing.B) {
	n := indexScale(b)
	for _, x := range []struct {
		name        string
		least, most int
	}{{"with", 1 << 14, 1 << 16}, {"without", never, never}} {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				l, err := ledger.Open(filePath(b), ledger.Options{})
				if err != nil {
					b.Fatal(err)
				}
				l.IndexOf(x.least, x.most)
				const step = 5000
				before := cpu(b)
				for from := 0; from < n/2; from += step {
					compare(b, l, supplierLists(from, step))
				}
				b.ReportMetric(float64(cpu(b)-before)/1e3/float64(n), "cpu-µs/record")
				b.ReportMetric(float64(indexBytes(b, l))/float64(n), "index-B/record")
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func indexBytes(b *testing.B, l *ledger.Ledger) (n int64) {
	b.Helper()
	err := l.Query(b.Context(), `SELECT coalesce(sum(octet_length(part)), 0)::BIGINT FROM index_parts`, nil, func(v []driver.Value) error {
		n, _ = v[0].(int64)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkIndexResolve is resolve in a new process, its first call and those
// after it, against ARCHE_SCALE records or those of the ledger ARCHE_INDEXED.
func BenchmarkIndexResolve(b *testing.B) {
	path, n := os.Getenv("ARCHE_INDEXED"), indexScale(b)
	if path == "" {
		var l *ledger.Ledger
		if l, path = stocked(b, n); l.Close() != nil {
			b.Fatal("the ledger does not close")
		}
	}
	ctx := context.Background()
	for b.Loop() {
		l, err := ledger.Open(path, ledger.Options{})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if _, _, _, err := l.Head(ctx); err != nil { // takes the state
			b.Fatal(err)
		}
		state := time.Since(start)
		start = time.Now()
		newcomer := func(i int) *canon.Object {
			sum := blake3.Sum256(fmt.Append(nil, i*7919%(n/2)))
			return canon.Obj("name", fmt.Sprintf("%s %x", words[i%len(words)], sum[:4]), "k", strconv.FormatInt(start.UnixNano(), 36)+strconv.Itoa(i))
		}
		if _, err := l.Resolve(ctx, newcomer(0), "organisation"); err != nil {
			b.Fatal(err)
		}
		first := time.Since(start)
		var took []time.Duration
		for i := 1; i <= 300; i++ {
			start := time.Now()
			if _, err := l.Resolve(ctx, newcomer(i), "organisation"); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		ms := func(d time.Duration, name string) { b.ReportMetric(float64(d)/1e6, name) }
		ms(state, "state-ms")
		ms(first, "first-ms")
		ms(took[len(took)/2], "p50-ms")
		ms(took[len(took)*99/100], "p99-ms")
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
