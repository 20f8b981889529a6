package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// runEvents fills a ledger with n events, closes it, and takes the figures that
// a ledger of that length is held to.
func runEvents(n int, seed int64, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "arche-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &eventsBench{ctx: context.Background(), path: filepath.Join(dir, "l.duckdb"), made: newSuppliers(seed), out: canon.NewObject()}
	for _, step := range []func() error{func() error { return b.fill(int64(n)) }, b.open, b.verify, b.single, b.batches} {
		if err := step(); err != nil {
			return err
		}
		debug.FreeOSMemory() // the next begins as in a new process
	}
	b.out.Set("peak_rss_mb", peakMB())
	return printLine(stdout, b.out)
}

type eventsBench struct {
	ctx  context.Context
	path string
	made *suppliers
	out  *canon.Object
	id   string // a decision in the middle of the log
	n    int    // events appended after the fill
}

// with opens the ledger, runs fn and closes it, as a new process would.
func (b *eventsBench) with(fn func(l *ledger.Ledger) error) error {
	l, err := ledger.Open(b.path, ledger.Options{})
	if err != nil {
		return err
	}
	if err := fn(l); err != nil {
		_ = l.Close()
		return err
	}
	return l.Close()
}

// eventsPairs is how many pairs of suppliers one call of the fill compares.
const eventsPairs = 1000

// fill records comparisons until there are n events: records, runs, decisions.
func (b *eventsBench) fill(n int64) error {
	return b.with(func(l *ledger.Ledger) error {
		watch := start()
		seq, decisions := int64(0), int64(0)
		for from := 0; seq < n; {
			// A pair makes two records and nearly one decision.
			size := min(eventsPairs, int((n-seq)/3)+1)
			req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
			req.A, req.B = b.made.batch(from, size)
			from += size
			res, err := l.Compare(b.ctx, req)
			if err != nil {
				return err
			}
			if _, seq, _, err = l.Head(b.ctx); err != nil {
				return err
			}
			decisions += int64(len(res.Edges))
			if b.id == "" && seq >= n/2 && len(res.Edges) > 0 {
				b.id = res.Edges[len(res.Edges)/2].DecisionID
			}
		}
		wall, cpu := watch.seconds()
		b.out.Set("events", seq)
		b.out.Set("decisions", decisions)
		b.out.Set("fill_wall_s", fixed(wall, 1))
		b.out.Set("fill_cpu_s", fixed(cpu, 1))
		return nil
	})
}

// open times the first answer after an opening, and one after the state is taken.
func (b *eventsBench) open() error {
	for _, verb := range []struct {
		name string
		call func(l *ledger.Ledger) error
	}{
		{"decision", func(l *ledger.Ledger) error { _, err := l.Decision(b.ctx, b.id); return err }},
		{"explain", func(l *ledger.Ledger) error { _, err := l.Explain(b.ctx, b.id); return err }},
	} {
		best, bestCPU := 0.0, 0.0
		for i := range 5 {
			watch := start()
			if err := b.with(verb.call); err != nil {
				return err
			}
			if wall, cpu := watch.seconds(); i == 0 || wall < best {
				best, bestCPU = wall, cpu
			}
		}
		b.out.Set("open_to_first_"+verb.name+"_ms", fixed(best*1000, 0))
		b.out.Set("open_to_first_"+verb.name+"_cpu_ms", fixed(bestCPU*1000, 0))
	}
	return nil
}

func (b *eventsBench) verify() error {
	return b.with(func(l *ledger.Ledger) error {
		watch := start()
		if err := l.Verify(b.ctx, nil); err != nil {
			return err
		}
		wall, cpu := watch.seconds()
		b.out.Set("verify_wall_s", fixed(wall, 1))
		b.out.Set("verify_cpu_s", fixed(cpu, 1))
		return nil
	})
}

// drafts are n events of about the size of a scan's.
func (b *eventsBench) drafts(n int) []ledger.Draft {
	out := make([]ledger.Draft, n)
	for i := range out {
		b.n++
		out[i] = ledger.Draft{
			Kind: "bench.noted", Subject: fmt.Sprintf("bench:%d", b.n),
			Body: canon.Obj("number", b.n, "text", strings.Repeat("x", 200)),
		}
	}
	return out
}

// single times durable appends of one event each.
func (b *eventsBench) single() error {
	return b.with(func(l *ledger.Ledger) error {
		watch := start()
		if _, err := l.LastTime(b.ctx); err != nil {
			return err
		}
		wall, cpu := watch.seconds()
		b.out.Set("state_wall_s", fixed(wall, 2))
		b.out.Set("state_cpu_s", fixed(cpu, 2))
		const n = 1000
		took := make([]float64, n)
		for i := range took {
			from := time.Now()
			if _, err := l.Append(b.ctx, b.drafts(1)); err != nil {
				return err
			}
			took[i] = time.Since(from).Seconds() * 1000
		}
		slices.Sort(took)
		b.out.Set("append", canon.Obj("n", n, "p50_ms", fixed(took[n/2], 2), "p99_ms", fixed(took[n*99/100], 2), "max_ms", fixed(took[n-1], 2)))
		return nil
	})
}

// batches times units of 1,000 events, each durable before the next.
func (b *eventsBench) batches() error {
	return b.with(func(l *ledger.Ledger) error {
		if _, err := l.LastTime(b.ctx); err != nil {
			return err
		}
		const n, size = 60, 1000
		watch := start()
		for range n {
			if _, err := l.Append(b.ctx, b.drafts(size)); err != nil {
				return err
			}
		}
		wall, cpu := watch.seconds()
		b.out.Set("batch", canon.Obj("n", n, "events", size, "events_per_s", rate(n*size, wall), "events_per_cpu_s", rate(n*size, cpu)))
		return nil
	})
}
