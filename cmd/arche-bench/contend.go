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
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arche-ledger/arche/internal/arctest/agents"
	"github.com/arche-ledger/arche/internal/arctest/histories"
	"github.com/arche-ledger/arche/ledger"
)

// runContend lets processes share one file: all at once, for throughput, and in
// histories whose answers must be explainable one after another.
func runContend(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("contend", flag.ContinueOnError)
	processes := flags.Int("processes", 4, "processes on one file")
	each := flags.Int("calls", 25, "comparisons that each is sent at once")
	rounds := flags.Int("rounds", 3, "rounds of calls at once on real servers")
	arche := flags.String("arche", "", "`path` of the program whose mcp command is tried; without it one is built from the tree")
	length := flags.Duration("for", 5*time.Second, "how long throughput is taken, 0 leaves it out")
	histories := flags.Int("histories", 5, "histories of 8 clients on 3 processes")
	calls := flags.Int("history-calls", 12, "calls of each client in a history")
	seed := flags.Uint64("seed", 0, "seed of the histories; 0 draws one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(newSeed(*seed, stdout), 4)) //nolint:gosec // order of calls
	dir, err := os.MkdirTemp("", "arche-contend-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *rounds > 0 {
		program, err := theProgram(*arche, dir)
		if err != nil {
			return err
		}
		if err := allAtOnce(dir, program, *processes, *each, *rounds, stdout); err != nil {
			return err
		}
	}
	if *length > 0 {
		if err := throughput(dir, *processes, *length, stdout); err != nil {
			return err
		}
	}
	return checkHistories(dir, *histories, *calls, random, stdout)
}

// server is a child process that answers calls.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	waiting map[int]chan string
	next    int
}

func startServer(path string) (*server, error) {
	cmd, err := newChild(context.Background(), "serve", 0, path)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, in: in, waiting: map[int]chan string{}}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go s.read(out)
	return s, nil
}

// read hands out answers; when the process ends, calls that wait are told.
func (s *server) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		number, answer, _ := strings.Cut(lines.Text(), " ")
		id, _ := strconv.Atoi(number)
		s.mu.Lock()
		ch := s.waiting[id]
		delete(s.waiting, id)
		s.mu.Unlock()
		if ch != nil {
			ch <- answer
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.waiting {
		ch <- "error the process ended"
	}
	s.waiting = nil
}

func (s *server) call(c histories.Call) (string, error) {
	ch := make(chan string, 1)
	s.mu.Lock()
	if s.waiting == nil {
		s.mu.Unlock()
		return "", errors.New("the process ended")
	}
	s.next++
	s.waiting[s.next] = ch
	_, err := fmt.Fprintf(s.in, "%d %s %d\n", s.next, c.Op, c.Key)
	s.mu.Unlock()
	if err != nil {
		return "", err
	}
	answer := <-ch
	if text, bad := strings.CutPrefix(answer, "error "); bad {
		return "", errors.New(text)
	}
	return answer, nil
}

func (s *server) stop() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

func startServers(path string, n int) ([]*server, error) {
	var out []*server
	for range n {
		s, err := startServer(path)
		if err != nil {
			return nil, errors.Join(err, stopServers(out))
		}
		out = append(out, s)
	}
	return out, nil
}

func stopServers(list []*server) error {
	var errs []error
	for _, s := range list {
		errs = append(errs, s.stop())
	}
	return errors.Join(errs...)
}

// allAtOnce starts real servers, `arche mcp`, and sends each its calls at one
// moment through a client of the SDK. Each must be recorded, none may fail, and
// every server must see all of them afterwards.
func allAtOnce(dir, arche string, processes, each, rounds int, stdout io.Writer) error {
	ctx := context.Background()
	fmt.Fprintf(stdout, "| round | servers | calls at once | recorded | errors | servers that see all | s |\n|---|---|---|---|---|---|---|\n")
	for round := range rounds {
		path := filepath.Join(dir, fmt.Sprintf("once-%d.duckdb", round))
		servers, err := agents.StartAll(ctx, processes, func() (*exec.Cmd, error) { return mcpServer(dir, arche, path), nil })
		if err != nil {
			return err
		}
		o := agents.AllAtOnce(ctx, servers, each)
		if err := agents.StopAll(servers); err != nil {
			return err
		}
		recorded, err := decisionsIn(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "| %d | %d | %d | %d | %d | %d | %.2f |\n", round+1, processes, o.Sent, recorded, len(o.Errors), o.SeeAll, o.Took.Seconds())
		if err := o.Whole(processes); err != nil {
			return err
		}
		if recorded != o.Sent {
			return fmt.Errorf("%d calls were answered and %d are in the file", o.Sent, recorded)
		}
	}
	fmt.Fprintln(stdout)
	return nil
}

// mcpServer is a server on a ledger, as an agent host starts it.
func mcpServer(dir, arche, path string) *exec.Cmd {
	cmd := exec.Command(arche, "mcp") //nolint:gosec // the program under trial
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ARCHE_LEDGER=duckdb:///"+path, "HOME="+dir)
	return cmd
}

// theProgram is the arche to try: the one named, else one built from the tree.
func theProgram(named, dir string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", fmt.Errorf("name the program with --arche: %w", err)
	}
	built := filepath.Join(dir, "arche")
	cmd := exec.Command("go", "build", "-o", built, "./cmd/arche")
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build arche: %w\n%s", err, said)
	}
	return built, nil
}

// decisionsIn verifies a ledger and counts its decisions.
func decisionsIn(path string) (n int, err error) {
	ctx := context.Background()
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Verify(ctx, nil); err != nil {
		return 0, err
	}
	for _, err := range l.Events(ctx, ledger.Filter{Kinds: []string{ledger.KindDecisionRecorded}}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// throughput compares what processes append together with what one does alone.
func throughput(dir string, processes int, length time.Duration, stdout io.Writer) error {
	fmt.Fprintf(stdout, "| processes | units of one decision | a second | least and most of a process |\n|---|---|---|---|\n")
	var rates []float64
	for i, n := range []int{1, processes, 1} {
		made, err := appendTogether(filepath.Join(dir, fmt.Sprintf("rate-%d.duckdb", i)), n, length)
		if err != nil {
			return err
		}
		sum, least, most := 0, made[0], made[0]
		for _, m := range made {
			sum, least, most = sum+m, min(least, m), max(most, m)
		}
		r := float64(sum) / length.Seconds()
		rates = append(rates, r)
		fmt.Fprintf(stdout, "| %d | %d | %.0f | %d, %d |\n", n, sum, r, least, most)
	}
	alone := (rates[0] + rates[2]) / 2
	fmt.Fprintf(stdout, "\n%d processes append %.0f %% of what one does alone\n\n", processes, 100*rates[1]/alone)
	if rates[1] < alone/2 {
		return errors.New("several processes append less than half of what one does")
	}
	return nil
}

// appendTogether lets n processes append for a while and returns how many units
// each made.
func appendTogether(path string, n int, length time.Duration) ([]int, error) {
	type writer struct {
		cmd   *exec.Cmd
		in    io.WriteCloser
		lines *bufio.Scanner
	}
	var all []writer
	for range n {
		cmd, err := newChild(context.Background(), "rate", int(length.Milliseconds()), path)
		if err != nil {
			return nil, err
		}
		cmd.Stderr = os.Stderr
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		all = append(all, writer{cmd, in, bufio.NewScanner(out)})
	}
	for _, w := range all {
		if !w.lines.Scan() {
			return nil, fmt.Errorf("a writer did not start: %w", w.cmd.Wait())
		}
	}
	for _, w := range all {
		if _, err := fmt.Fprint(w.in, "g"); err != nil {
			return nil, err
		}
	}
	var made []int
	for _, w := range all {
		units := 0
		if w.lines.Scan() {
			if _, err := fmt.Sscanf(w.lines.Text(), "made %d", &units); err != nil {
				return nil, err
			}
		}
		if err := w.cmd.Wait(); err != nil {
			return nil, err
		}
		made = append(made, units)
	}
	_, err := decisionsIn(path)
	return made, err
}
