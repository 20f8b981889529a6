package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/arctest/histories"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// runSoak makes mixed calls for a while and watches memory, goroutines and open
// files. The calls draw from a bounded set, so that once it is used up nothing
// new is recorded and memory has no reason to grow.
func runSoak(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	length := flags.Duration("for", time.Minute, "how long")
	warm := flags.Duration("warm", 0, "after which time growth counts (default half)")
	growth := flags.Float64("growth", 0.10, "largest growth of the resident size after that, as a share")
	ceiling := flags.Int("ceiling-mb", 1024, "largest resident size, MB")
	seed := flags.Uint64("seed", 0, "seed of the calls; 0 draws one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *warm == 0 {
		*warm = *length / 2
	}
	dir, err := os.MkdirTemp("", "arche-soak-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &soak{
		ctx: context.Background(), path: filepath.Join(dir, "ledger.duckdb"), out: stdout,
		random: rand.New(rand.NewPCG(newSeed(*seed, stdout), 3)), //nolint:gosec // order of calls
	}
	if s.ledger, err = ledger.Open(s.path, ledger.Options{}); err != nil {
		return err
	}
	err = s.run(*length, *warm, *growth, *ceiling)
	return errors.Join(err, s.ledger.Close())
}

// soakKeys bounds the set that calls draw from.
const soakKeys = 40

type soak struct {
	ctx    context.Context //nolint:containedctx // lives for one command
	path   string
	out    io.Writer
	ledger *ledger.Ledger
	random *rand.Rand
	ids    []string // decisions met so far
	calls  int
	opens  int
}

// soakSample is what is watched.
type soakSample struct{ rss, goroutines, files int }

// most is the larger of each.
func (s soakSample) most(o soakSample) soakSample {
	return soakSample{max(s.rss, o.rss), max(s.goroutines, o.goroutines), max(s.files, o.files)}
}

func sampleSelf() soakSample {
	s := soakSample{goroutines: runtime.NumGoroutine()}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.files = len(entries)
	}
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(data)); len(f) > 1 {
			pages, _ := strconv.Atoi(f[1])
			s.rss = pages * os.Getpagesize() >> 20
		}
	}
	if s.rss == 0 { // no such file on this system
		s.rss = peakMB()
	}
	return s
}

func (s *soak) run(length, warm time.Duration, growth float64, ceiling int) error {
	start := time.Now()
	var base, top, last soakSample
	fmt.Fprintf(s.out, "| s | calls | openings | events | MB resident | goroutines | open files |\n|---|---|---|---|---|---|---|\n")
	for next := time.Duration(0); ; {
		at := time.Since(start)
		if at >= next || at >= length {
			_, seq, _, err := s.ledger.Head(s.ctx)
			if err != nil {
				return err
			}
			last = sampleSelf()
			fmt.Fprintf(s.out, "| %.0f | %d | %d | %d | %d | %d | %d |\n", at.Seconds(), s.calls, s.opens, seq, last.rss, last.goroutines, last.files)
			next += max(length/12, time.Second)
			if at < warm {
				base = base.most(last)
			} else {
				top = top.most(last)
			}
		}
		if at >= length {
			break
		}
		if err := s.call(); err != nil {
			return err
		}
	}
	if err := s.ledger.Verify(s.ctx, nil); err != nil {
		return err
	}
	share := float64(top.rss-base.rss) / float64(max(1, base.rss))
	fmt.Fprintf(s.out, "\nafter the warm-up the resident size was %d MB at most, %d before (%+.1f %%); goroutines %d and %d, open files %d and %d\n",
		top.rss, base.rss, 100*share, base.goroutines, top.goroutines, base.files, top.files)
	switch {
	case share > growth:
		return fmt.Errorf("the resident size grew by more than %.0f %%", 100*growth)
	case top.rss > ceiling:
		return fmt.Errorf("the resident size passed %d MB", ceiling)
	case top.goroutines > base.goroutines+4 || top.files > base.files+8:
		return errors.New("goroutines or open files grew")
	}
	return nil
}

// call makes one call. Every so often the file is let go first, so that it is
// opened again.
func (s *soak) call() error {
	s.calls++
	if s.calls%40 == 0 {
		if err := s.ledger.Close(); err != nil {
			return err
		}
		l, err := ledger.Open(s.path, ledger.Options{})
		if err != nil {
			return err
		}
		s.ledger = l
		s.opens++
	}
	key := s.random.IntN(soakKeys)
	switch s.random.IntN(10) {
	case 0:
		return s.compare(numberedPairs(key, 1).A, numberedPairs(key, 1).B)
	case 1:
		req := numberedPairs(key/20*20, 20)
		return s.compare(req.A, req.B)
	case 2:
		req := ordinaryPair(key)
		return s.compare(req.A, req.B)
	case 3:
		_, err := s.ledger.Resolve(s.ctx, canon.Obj("name", fmt.Sprintf("Kijani%d Tea Exporters", key)), "organisation")
		return err
	case 4:
		return s.observe(key)
	case 5:
		_, err := s.ledger.Cases(s.ctx, "")
		return err
	case 6:
		_, err := s.ledger.Entities(s.ctx, "")
		return err
	}
	if len(s.ids) == 0 {
		return nil
	}
	id := s.ids[s.random.IntN(len(s.ids))]
	for _, verb := range []func(context.Context, string) (*canon.Object, error){s.ledger.Decision, s.ledger.Explain, s.ledger.Replay} {
		if _, err := verb(s.ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// observe adds to a record that a comparison may have made by now.
func (s *soak) observe(key int) error {
	id, err := canon.PublishedID("rec", canon.Obj("entity_type", "organisation", "attributes", histories.Registered("a", key)))
	if err != nil {
		return err
	}
	_, err = s.ledger.Observe(s.ctx, id, canon.Obj("remark", fmt.Sprint("n", key)))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func (s *soak) compare(a, b []*canon.Object) error {
	req := numberedPairs(0, 0)
	req.A, req.B = a, b
	res, err := s.ledger.Compare(s.ctx, req)
	if err != nil {
		return err
	}
	for i := range res.Edges {
		if len(s.ids) < 400 {
			s.ids = append(s.ids, res.Edges[i].DecisionID)
		}
	}
	return nil
}
