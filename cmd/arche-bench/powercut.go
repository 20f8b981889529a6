package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/arctest/histories"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/fsck"
)

// runPowercut records every change that a writer makes on the disk, and opens
// the ledger as power cuts at many moments would have left it.
func runPowercut(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("powercut", flag.ContinueOnError)
	works := flags.String("works", strings.Join(crashWorks, ","), "kinds of work, separated by commas")
	units := flags.Int("units", 0, "units of work to record; 0 is what suits the kind")
	moments := flags.Int("moments", 100, "moments of each kind of work, drawn; those around changed names and checkpoints are always taken")
	seed := flags.Uint64("seed", 0, "seed of the moments and of what is lost; 0 draws one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := exec.LookPath("strace"); err != nil {
		return errors.New("strace is needed to record what a process writes (Linux only)")
	}
	random := rand.New(rand.NewPCG(newSeed(*seed, stdout), 7)) //nolint:gosec // moments of cuts
	fmt.Fprintf(stdout, "| cut in | operations | moments | states of the disk | different | lost | torn | partial | failed reopens | opened after a repair, whole |\n|---|---|---|---|---|---|---|---|---|---|\n")
	bad := 0
	for work := range strings.SplitSeq(*works, ",") {
		p := &powerLab{work: work, random: random, log: stdout}
		if err := p.study(*units, *moments); err != nil {
			return fmt.Errorf("%s: %w", work, err)
		}
		c := &p.count
		bad += c.broken()
		fmt.Fprintf(stdout, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n",
			work, p.operations, p.moments, p.states, len(p.seen), c.lost, c.torn, c.part, c.reopen, p.repaired)
	}
	if bad > 0 {
		return fmt.Errorf("%d promises were broken", bad)
	}
	return nil
}

// powerUnits is how many units of a work are recorded, checkpoints among them.
var powerUnits = map[string]int{"single": 340, "ten": 60, "thousand": 4, "compare": 8, "observe": 120, "resolve": 200, "forget": 8}

// powerLab studies one kind of work.
type powerLab struct {
	work                        string
	random                      *rand.Rand
	log                         io.Writer
	operations, moments, states int
	repaired                    int
	seen                        map[string]bool // contents of folders that were tried
	count                       crashCount
}

const powerFile = "work.duckdb"

func (p *powerLab) study(units, moments int) error {
	if units == 0 {
		units = powerUnits[p.work]
	}
	dir, err := os.MkdirTemp("", "arche-powercut-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ops, err := p.record(dir, units)
	if err != nil {
		return err
	}
	p.operations, p.seen = len(ops), map[string]bool{}
	wanted := momentsOf(ops, moments, p.random)
	d, ack := newPowerDisk(), lastAck{n: -1}
	for i, op := range ops {
		d.do(op)
		if op.kind == "said" {
			if _, err := fmt.Sscanf(string(op.data), "ack %d %s %d", &ack.seq, &ack.link, &ack.n); err != nil {
				return fmt.Errorf("the writer said %q", op.data)
			}
		}
		if !wanted[i] {
			continue
		}
		p.moments++
		for _, c := range []cut{cutAll, cutNone, cutNames, cutDrawn, cutDrawn, cutDrawn} {
			if err := p.try(dir, i, c, d.image(c, p.random), ack); err != nil {
				return err
			}
		}
	}
	return nil
}

// momentsOf draws moments, and takes all within three operations of a change of
// a name or of the data file.
func momentsOf(ops []diskOp, n int, random *rand.Rand) []bool {
	out := make([]bool, len(ops))
	for range n {
		out[random.IntN(len(ops))] = true
	}
	for i, op := range ops {
		switch op.kind {
		case "write", "truncate", "said":
			continue
		case "sync":
			if op.name != powerFile {
				continue
			}
		}
		for k := max(0, i-3); k <= min(len(ops)-1, i+3); k++ {
			out[k] = true
		}
	}
	return out
}

// record lets a writer work under strace until it has acknowledged some units.
func (p *powerLab) record(dir string, units int) ([]diskOp, error) {
	at := filepath.Join(dir, "recorded")
	if err := os.Mkdir(at, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	child, err := newChild(ctx, p.work, 0, filepath.Join(at, powerFile))
	if err != nil {
		return nil, err
	}
	traces := filepath.Join(dir, "trace")
	cmd := exec.CommandContext(ctx, "strace", "-f", "-xx", "-s", "1000000000", "-e", "trace="+tracedCalls, "-o", traces, child.Path) //nolint:gosec // this program
	cmd.Env = child.Env
	cmd.Stderr = os.Stderr
	// strace does not die of what it traces: the pipe that nobody reads ends both.
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for n := 0; n < units && lines.Scan(); n++ {
	}
	_ = out.Close()
	_ = cmd.Wait()            // the writer has no reader any more
	f, err := os.Open(traces) //nolint:gosec // made above
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := newWatcher(at)
	if err := (&traceReader{}).read(f, w.call); err != nil {
		return nil, err
	}
	if len(w.ops) == 0 {
		return nil, errors.New("strace recorded nothing: it may not be allowed to trace")
	}
	return w.ops, nil
}

// try opens one state of the disk as the next process would, and goes on.
func (p *powerLab) try(dir string, moment int, c cut, files map[string][]byte, ack lastAck) error {
	p.states++
	key := contentKey(files, ack)
	if p.seen[key] {
		return nil
	}
	p.seen[key] = true
	at := filepath.Join(dir, "image")
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(at)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o600); err != nil {
			return err
		}
	}
	if p.work == "forget" {
		p.kept(files, moment, ack)
	}
	before := p.count
	path := filepath.Join(at, powerFile)
	end, err := p.count.check(p.work, path, ack)
	if err != nil {
		return err
	}
	if p.count.broken() > before.broken() {
		err = p.repair(path, ack, before)
	} else if _, err = visited(path, func(l *ledger.Ledger) error { return appendUnit(context.Background(), l, p.work, ack.n+2) }); err != nil {
		p.count.reopen++
	}
	if p.count.broken() > before.broken() {
		fmt.Fprintf(p.log, "%s: operation %d, %s: acknowledged %d, found %d: %v\n", p.work, moment, c, ack.seq, end, err)
	}
	return nil
}

// kept counts values that were erased, and acknowledged so, and are on the disk
// all the same.
func (p *powerLab) kept(files map[string][]byte, moment int, ack lastAck) {
	for n := range ack.n + 1 {
		value, _ := histories.Registered("a", n).Value("registration_id").(string)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if bytes.Contains(files[name], []byte(value)) {
				p.count.torn++
				fmt.Fprintf(p.log, "%s: operation %d: %s holds what was erased in unit %d\n", p.work, moment, name, n)
			}
		}
	}
}

// repair does what the operator of a file that does not open would. A file that
// holds everything acknowledged after it is no broken promise: what was being
// written when the power went is damaged, and that is said.
func (p *powerLab) repair(path string, ack lastAck, before crashCount) error {
	nothing := func(*ledger.Ledger) error { return nil }
	_, refused := visited(path, nothing)
	if !errors.Is(refused, duck.ErrDamagedLog) {
		return refused
	}
	res, err := fsck.Repair(context.Background(), path, fsck.Options{AcceptLoss: true})
	if err != nil {
		return errors.Join(refused, err)
	}
	if events, err := visited(path, nothing); err != nil || events < ack.seq {
		return errors.Join(refused, err, fmt.Errorf("%d events after a repair: %+v", events, res))
	}
	p.count = before
	p.repaired++
	return nil
}

// visited opens a ledger, does something with it, verifies it, and says how many
// events it has.
func visited(path string, do func(l *ledger.Ledger) error) (events int64, err error) {
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := do(l); err != nil {
		return 0, err
	}
	var report ledger.Report
	err = l.Verify(context.Background(), &report)
	return report.Events, err
}

func contentKey(files map[string][]byte, ack lastAck) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", ack.seq)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, " %s %x", name, sha256.Sum256(files[name]))
	}
	return b.String()
}
