package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arche-ledger/arche/internal/arctest/histories"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// childJob names the environment variable that turns this program into one of
// the processes that share a ledger: "WORK FIRST PATH".
const childJob = "ARCHE_BENCH_CHILD"

// childMain does the work of a child process, if this is one, and ends it.
func childMain() {
	job := os.Getenv(childJob)
	if job == "" {
		return
	}
	f := strings.SplitN(job, " ", 3)
	first, err := strconv.Atoi(f[1])
	if err == nil {
		err = childWork(f[0], first, f[2], os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// newChild is a process that does some work on a ledger file.
func newChild(ctx context.Context, work string, first int, path string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", childJob, work, first, path))
	return cmd, nil
}

func childWork(work string, first int, path string, in io.Reader, out io.Writer) error {
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		return err
	}
	work, size, _ := strings.Cut(work, "@")
	switch work {
	case "serve":
		err = serveLines(l, in, out)
	case "rate":
		err = appendFor(l, first, out)
	case "limited":
		limit, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return err
		}
		return appendUnderLimit(l, limit, first, out)
	case "export":
		limit, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return err
		}
		return exportUnderLimit(l, limit, out)
	default:
		err = appendForEver(l, work, first, out)
	}
	return errors.Join(err, l.Close())
}

// unitSize is how many decisions one unit of a work records; 0 varies.
var unitSize = map[string]int{"single": 1, "ten": 10, "thousand": 1000, "compare": 400, "observe": 0, "resolve": 0, "forget": 1}

func numberedPairs(from, n int) resolve.Request {
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	for k := from; k < from+n; k++ {
		req.A, req.B = append(req.A, histories.Registered("a", k)), append(req.B, histories.Registered("b", k))
	}
	return req
}

func ordinaryPair(n int) resolve.Request {
	return resolve.Request{
		A: []*canon.Object{histories.Ordinary("p", n)}, B: []*canon.Object{histories.Ordinary("q", n)},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	}
}

// appendForEver appends unit after unit and acknowledges each with where the
// log then ends.
func appendForEver(l *ledger.Ledger, work string, first int, out io.Writer) error {
	ctx := context.Background()
	for n := first; ; n++ {
		if err := appendUnit(ctx, l, work, n); err != nil {
			return err
		}
		if err := acknowledge(ctx, l, n, out); err != nil {
			return err
		}
	}
}

func acknowledge(ctx context.Context, l *ledger.Ledger, n int, out io.Writer) error {
	_, seq, link, err := l.Head(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "ack %d %s %d\n", seq, link, n)
	return err
}

func appendUnit(ctx context.Context, l *ledger.Ledger, work string, n int) error {
	switch work {
	case "resolve":
		_, err := l.Resolve(ctx, canon.Obj("name", fmt.Sprintf("Kijani%d Tea Exporters", n%7), "n", n), "organisation")
		return err
	case "observe":
		res, err := l.Compare(ctx, ordinaryPair(n%5))
		if err != nil {
			return err
		}
		d, err := l.Decision(ctx, res.Edges[0].DecisionID)
		if err != nil {
			return err
		}
		a, _ := d.Value("record_a").(string)
		_, err = l.Observe(ctx, a, canon.Obj("remark", fmt.Sprintf("n%d", n)))
		return err
	case "forget":
		return recordAndForget(ctx, l, n)
	}
	size := unitSize[work]
	if size == 0 {
		return fmt.Errorf("no work is called %q", work)
	}
	_, err := l.Compare(ctx, numberedPairs(n*size, size))
	return err
}

// recordAndForget records a pair and erases the values of both records, which
// writes the file anew.
func recordAndForget(ctx context.Context, l *ledger.Ledger, n int) error {
	if _, err := l.Compare(ctx, numberedPairs(n, 1)); err != nil {
		return err
	}
	req := ledger.ForgetRequest{Reason: "asked to"}
	for _, side := range []string{"a", "b"} {
		id, err := canon.PublishedID("rec", canon.Obj("entity_type", "organisation", "attributes", histories.Registered(side, n)))
		if err != nil {
			return err
		}
		req.Addresses = append(req.Addresses, id)
	}
	_, err := l.Forget(ctx, req)
	return err
}

// appendFor appends single units for some milliseconds, starting when it is
// told to, and says how many it made.
func appendFor(l *ledger.Ledger, millis int, out io.Writer) error {
	ctx := context.Background()
	base := os.Getpid() * 1_000_000 // pairs of its own
	if _, err := l.Entities(ctx, ""); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	end := time.Now().Add(time.Duration(millis) * time.Millisecond)
	n := 0
	for ; time.Now().Before(end); n++ {
		if err := appendUnit(ctx, l, "single", base+n); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "made %d\n", n)
	return err
}

// serveLines answers "ID OP KEY" lines, all at once, with "ID ANSWER" lines.
func serveLines(l *ledger.Ledger, in io.Reader, out io.Writer) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var id int
		var c histories.Call
		if _, err := fmt.Sscanf(lines.Text(), "%d %s %d", &id, &c.Op, &c.Key); err != nil {
			return fmt.Errorf("cannot read %q: %w", lines.Text(), err)
		}
		wg.Go(func() {
			answer, err := c.Do(context.Background(), l)
			if err != nil {
				answer = "error " + strings.ReplaceAll(err.Error(), "\n", "; ")
			}
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(out, "%d %s\n", id, answer)
		})
	}
	wg.Wait()
	return lines.Err()
}
