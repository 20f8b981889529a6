package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// stopwatch measures one piece of work.
type stopwatch struct {
	wall time.Time
	cpu  float64
}

func start() stopwatch { return stopwatch{time.Now(), cpuSeconds()} }

func (s stopwatch) seconds() (wall, cpu float64) {
	return time.Since(s.wall).Seconds(), cpuSeconds() - s.cpu
}

func fixed(x float64, decimals int) canon.Number {
	return canon.Number(strconv.FormatFloat(x, 'f', decimals, 64))
}

// rate is n a second as a whole number.
func rate(n int64, seconds float64) int64 {
	if seconds <= 0 {
		return 0
	}
	return int64(float64(n) / seconds)
}

// quality is how right an answer is.
type quality struct {
	matches, review           int
	precision, recall, f1     float64
	surfaced                  float64 // recall of matches and reviews together
	best                      float64 // F1 at the best cut of the score
	bestAt                    float64
	bestPrecision, bestRecall float64
}

// grade compares edges with the truth. The best cut looks at the labels: it is a
// bound, not something a user has.
func grade(edges []resolve.Edge, truth [][2]string) quality {
	gold := make(map[[2]string]bool, len(truth))
	for _, p := range truth {
		gold[p] = true
	}
	var q quality
	right, shown := 0, 0
	for i := range edges {
		e := &edges[i]
		ok := gold[[2]string{canon.Text(e.AID), canon.Text(e.BID)}]
		if ok {
			shown++
		}
		if e.Decision == "match" {
			q.matches++
			if ok {
				right++
			}
		} else {
			q.review++
		}
		// Edges come by falling score; a cut takes all of one score.
		if i+1 < len(edges) && edges[i+1].Score == e.Score {
			continue
		}
		if p, r, f := prf(shown, i+1, len(truth)); f > q.best {
			q.best, q.bestAt, q.bestPrecision, q.bestRecall = f, e.Score, p, r
		}
	}
	q.precision, q.recall, q.f1 = prf(right, q.matches, len(truth))
	if len(truth) > 0 {
		q.surfaced = float64(shown) / float64(len(truth))
	}
	return q
}

func prf(right, found, all int) (p, r, f float64) {
	if found > 0 {
		p = float64(right) / float64(found)
	}
	if all > 0 {
		r = float64(right) / float64(all)
	}
	if p+r > 0 {
		f = 2 * p * r / (p + r)
	}
	return p, r, f
}

// candidates is the number of pairs that were scored.
func candidates(res *resolve.Result) int64 {
	switch n := res.Blocking.Value("candidate_pairs").(type) {
	case int:
		return int64(n)
	case int64:
		return n
	case canon.Number:
		return int64(n.Float())
	}
	return 0
}

// printLine prints an object as one line of JSON.
func printLine(w io.Writer, o *canon.Object) error {
	b, err := canon.Compact(o)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", b)
	}
	return err
}
