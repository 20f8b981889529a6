package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/arche-ledger/arche/ledger"
)

// crashWorks are what a writer is killed in, in the order of the table.
var crashWorks = []string{"single", "ten", "thousand", "compare", "observe", "resolve", "forget"}

// crashCount is what a number of kills came to.
type crashCount struct {
	kills, before    int   // kills, and those that fell before the first acknowledgement
	acked            int64 // events acknowledged
	tails            int   // kills after which events were there that nobody acknowledged
	lost, torn, part int   // acknowledged events gone, logs that do not verify, units there in part
	reopen           int   // openings that failed
}

// broken is how many promises were.
func (c *crashCount) broken() int { return c.lost + c.torn + c.part + c.reopen }

// newSeed is the seed given, or one drawn; it is printed either way.
func newSeed(given uint64, out io.Writer) uint64 {
	if given == 0 {
		given = rand.Uint64()
	}
	fmt.Fprintf(out, "seed %d\n\n", given)
	return given
}

// runCrash kills real writer processes at random moments and checks the file
// as the next process finds it.
func runCrash(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("crash", flag.ContinueOnError)
	kills := flags.Int("kills", 20, "kills of each kind of work")
	seed := flags.Uint64("seed", 0, "seed of the moments; 0 draws one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(newSeed(*seed, stdout), 1)) //nolint:gosec // moments of kills
	fmt.Fprintf(stdout, "| killed in | kills | before the first answer | events acknowledged | unacknowledged tails | lost | torn | partial | failed reopens |\n|---|---|---|---|---|---|---|---|---|\n")
	bad := 0
	for _, work := range crashWorks {
		c, err := crashWork(work, *kills, random)
		if err != nil {
			return err
		}
		bad += c.broken()
		fmt.Fprintf(stdout, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", work, c.kills, c.before, c.acked, c.tails, c.lost, c.torn, c.part, c.reopen)
	}
	if bad > 0 {
		return fmt.Errorf("%d promises were broken", bad)
	}
	return nil
}

// killsAFile is after how many kills a fresh file is taken, so that checking
// does not outgrow killing.
const killsAFile = 8

func crashWork(work string, kills int, random *rand.Rand) (*crashCount, error) {
	dir, err := os.MkdirTemp("", "arche-crash-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := &crashCount{}
	next := 0
	end := int64(0) // where the log ended before
	for k := range kills {
		if k%killsAFile == 0 {
			end = 0
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.duckdb", k/killsAFile))
		ack, err := killChild(work, next, path, random)
		if err != nil {
			return nil, err
		}
		c.kills++
		if ack.seq == 0 {
			c.before++
		}
		c.acked += max(0, ack.seq-end)
		if end, err = c.check(work, path, ack); err != nil {
			return nil, err
		}
		next = ack.n + 2 // the unit behind the last acknowledged one may be there or not
	}
	return c, nil
}

// lastAck is the last unit a child said was durable.
type lastAck struct {
	seq  int64
	link string
	n    int
}

// killChild starts a writer and kills it: one time in three so early that the
// kill may fall on opening, else a random while after it first answered.
func killChild(work string, first int, path string, random *rand.Rand) (lastAck, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ack := lastAck{n: first - 1}
	cmd, err := newChild(ctx, work, first, path)
	if err != nil {
		return ack, err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return ack, err
	}
	if err := cmd.Start(); err != nil {
		return ack, err
	}
	early := random.IntN(3) == 0
	moment := time.Duration(random.Int64N(int64(250 * time.Millisecond)))
	kill := func() { _ = cmd.Process.Kill() }
	if early {
		defer time.AfterFunc(moment, kill).Stop()
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if _, err := fmt.Sscanf(lines.Text(), "ack %d %s %d", &ack.seq, &ack.link, &ack.n); err != nil {
			kill()
			return ack, errors.Join(fmt.Errorf("the writer said %q", lines.Text()), cmd.Wait())
		}
		if n == 0 && !early {
			defer time.AfterFunc(moment, kill).Stop()
		}
	}
	_ = cmd.Wait() // it was killed
	return ack, nil
}

// check opens the file as the next process would, compares everything, and
// returns where the log ends.
func (c *crashCount) check(work, path string, ack lastAck) (end int64, err error) {
	ctx := context.Background()
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		c.reopen++
		return 0, nil
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var report ledger.Report
	if err := l.Verify(ctx, &report); err != nil {
		if len(report.Findings) > 0 {
			c.torn++
		} else {
			c.reopen++
		}
		return report.Events, nil
	}
	if report.Events > ack.seq && ack.seq > 0 {
		c.tails++
	}
	if report.Events < ack.seq {
		c.lost++
		return report.Events, nil
	}
	decisions := map[int64]int{}
	for e, err := range l.Events(ctx, ledger.Filter{}) {
		if err != nil {
			return 0, err
		}
		if e.Seq() == ack.seq && e.Link() != ack.link {
			c.lost++
		}
		if e.Kind() == ledger.KindDecisionRecorded {
			decisions[e.RecordedAt().UnixMicro()]++
		}
	}
	for _, n := range decisions {
		if want := unitSize[work]; want > 0 && n != want {
			c.part++
			break
		}
	}
	return report.Events, nil
}
