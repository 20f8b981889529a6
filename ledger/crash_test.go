package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest/histories"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// crashChild names the environment variable that turns this test binary into
// a writer to be killed: "MODE FIRST PATH".
const crashChild = "ARCHE_CRASH_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(crashChild); job != "" {
		f := strings.SplitN(job, " ", 3)
		first, err := strconv.Atoi(f[1])
		if err == nil {
			err = writeForever(f[0], first, f[2])
		}
		if err == nil {
			os.Exit(0)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// crashUnit is how many decisions a unit of work of a mode records; 0 varies.
var crashUnit = map[string]int{"single": 1, "ten": 10, "thousand": 1000, "resolve": 0, "observe": 0, "turns": 1}

// writeForever appends unit after unit and acknowledges each on standard
// output with where the log then ends.
func writeForever(mode string, first int, path string) error {
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if mode == "indexed" {
		l.IndexOf(3, 5)
	}
	for n := first; mode != "turns" || n < first+turnsEach; n++ {
		switch mode {
		case "resolve", "indexed":
			_, err = l.Resolve(ctx, canon.Obj("name", fmt.Sprintf("Kijani%d Tea Exporters", n%7), "n", n), "organisation")
		case "observe":
			var res *resolve.Result
			if res, err = l.Compare(ctx, reviewed(n%5)); err != nil {
				return err
			}
			var d *canon.Object
			if d, err = l.Decision(ctx, res.Edges[0].DecisionID); err != nil {
				return err
			}
			a, _ := d.Value("record_a").(string)
			_, err = l.Observe(ctx, a, canon.Obj("remark", fmt.Sprintf("n%d", n)))
		default:
			req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
			for k := range crashUnit[mode] {
				req.A = append(req.A, histories.Registered("a", n*crashUnit[mode]+k))
				req.B = append(req.B, histories.Registered("b", n*crashUnit[mode]+k))
			}
			_, err = l.Compare(ctx, req)
		}
		if err != nil {
			return err
		}
		_, seq, link, err := l.Head(ctx)
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("ack %d %s %d\n", seq, link, n); err != nil {
			return err
		}
	}
	return l.Close()
}

// turnsEach is how many units each process of TestProcessesTakeTurns appends.
const turnsEach = 25

// TestProcessesTakeTurns lets four real processes append to one file at once:
// every unit is there, none failed, and the log is one chain.
func TestProcessesTakeTurns(t *testing.T) {
	path := filePath(t)
	const processes = 4
	var wg sync.WaitGroup
	for k := range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=turns %d %s", crashChild, k*turnsEach, path))
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "ack ") != turnsEach {
				t.Errorf("process %d: %v\n%s", k, err, out)
			}
		})
	}
	wg.Wait()
	l := open(t, path, ledger.Options{})
	ents, err := l.Entities(t.Context(), "")
	if n := countOf(t, ents, err); n != processes*turnsEach {
		t.Errorf("%d entities, want %d", n, processes*turnsEach)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// acknowledged is the last unit that a child said was durable.
type acknowledged struct {
	seq  int64
	link string
	n    int
}

// killOnce starts a writer, reads some acknowledgements, kills it, and reads
// what it had still said.
func killOnce(t *testing.T, mode string, first int, path string, after int) acknowledged {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", crashChild, mode, first, path))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := acknowledged{n: first - 1}
	lines := bufio.NewScanner(out)
	for k := 0; lines.Scan(); k++ {
		if _, err := fmt.Sscanf(lines.Text(), "ack %d %s %d", &last.seq, &last.link, &last.n); err != nil {
			t.Fatalf("child said %q", lines.Text())
		}
		if k == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	return last
}

// checkAfterKill opens the file as the next process would.
func checkAfterKill(t *testing.T, mode, path string, ack acknowledged) {
	t.Helper()
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var report ledger.Report
	if err := l.Verify(t.Context(), &report); err != nil {
		t.Fatalf("after the kill: %v\n%+v", err, report.Findings)
	}
	if report.Events < ack.seq {
		t.Fatalf("event %d was acknowledged and the log ends at %d", ack.seq, report.Events)
	}
	decisions := map[int64]int{}
	for e, err := range l.Events(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq() == ack.seq && e.Link() != ack.link {
			t.Fatalf("event %d is not the one acknowledged", ack.seq)
		}
		if e.Kind() == ledger.KindDecisionRecorded {
			decisions[e.RecordedAt().UnixMicro()]++
		}
	}
	if want := crashUnit[mode]; want > 0 {
		for at, n := range decisions {
			if n != want {
				t.Fatalf("the unit at %d has %d decisions, want %d: a batch is there in part", at, n, want)
			}
		}
	}
}

// TestKilledWriterLosesNothing kills a real writer process in mid-append:
// nothing acknowledged is lost, no unit is there in part, and the file verifies.
func TestKilledWriterLosesNothing(t *testing.T) {
	kills := map[string]int{"single": 10, "ten": 8, "thousand": 3, "resolve": 4, "observe": 4}
	units := map[string]int{"single": 12, "ten": 8, "thousand": 1, "resolve": 6, "observe": 6}
	if long() {
		for m := range kills {
			kills[m] *= 10
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // moments of kills
	for _, mode := range []string{"single", "ten", "thousand", "resolve", "observe"} {
		t.Run(mode, func(t *testing.T) {
			path := filePath(t)
			next := 0
			for range kills[mode] {
				ack := killOnce(t, mode, next, path, random.IntN(units[mode]))
				checkAfterKill(t, mode, path, ack)
				next = ack.n + 2 // the unit after the last acknowledged one may be there or not
			}
		})
	}
}
