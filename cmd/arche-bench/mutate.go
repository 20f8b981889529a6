package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// runMutate makes small mistakes in the source of a package, one at a time and
// only in what the compiler sees, and counts those that its tests notice. A
// mistake is shown to the tests that run its line, each of which is first run
// alone to know what it runs.
func runMutate(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	pkg := flags.String("package", "./attest", "package to make mistakes in")
	tests := flags.String("tests", "", "packages whose tests must notice, separated by spaces; none is the package's own")
	files := flags.String("files", "", "take only these files, separated by commas")
	run := flags.String("run", "", "take only tests that match")
	skip := flags.String("skip", "", "leave out tests that match")
	count := flags.Int("count", 50, "mistakes to make, drawn without repetition; 0 is all")
	timeout := flags.Duration("timeout", 2*time.Minute, "for one run of tests; one that takes longer has noticed")
	seed := flags.Uint64("seed", 0, "seed of the draw; 0 draws one")
	jobs := flags.Int("jobs", 1, "mistakes to try at a time")
	each := flags.Bool("each", false, "tell what became of every mistake, not of those that survived alone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	drawn := newSeed(*seed, stdout)
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	all, err := packageMutants(filepath.Join(root, filepath.FromSlash(*pkg)), *files)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("there is nothing to make a mistake in")
	}
	total := len(all)
	rand.New(rand.NewPCG(drawn, 5)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec // a sample
	if *count > 0 && *count < len(all) {
		all = all[:*count]
	}
	lab := &mutantLab{root: root, pkgs: strings.Fields(*tests), run: *run, timeout: *timeout, each: *each, jobs: *jobs}
	if *skip != "" {
		if lab.skip, err = regexp.Compile(*skip); err != nil {
			return err
		}
	}
	if len(lab.pkgs) == 0 {
		lab.pkgs = []string{*pkg}
	}
	fmt.Fprintf(stdout, "%d of %d mistakes in %s, noticed by %s\n\n", len(all), total, *pkg, strings.Join(lab.pkgs, " "))
	return lab.try(*pkg, all, stdout)
}

// packageMutants lists the mutants of a package's files, or of some of them.
func packageMutants(dir, files string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") || files != "" && !slices.Contains(strings.Split(files, ","), filepath.Base(p)) {
			continue
		}
		if built, err := build.Default.MatchFile(dir, filepath.Base(p)); err != nil || !built {
			continue // for another system
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		list, err := mutants(p, source)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// mutantLab builds and runs tests of a tree in which one file is replaced for
// the compiler.
type mutantLab struct {
	root    string
	pkgs    []string
	run     string
	skip    *regexp.Regexp
	timeout time.Duration
	each    bool
	jobs    int
}

// What became of a mutant.
const (
	mutantKilled    = "noticed"
	mutantSurvived  = "SURVIVED"
	mutantUnreached = "UNREACHED"
	mutantInvalid   = "does not compile"
)

// try makes the mistakes in turn and prints what became of them in their order.
func (l *mutantLab) try(target string, list []mutant, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "arche-mutate-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tests, err := l.reachOf(dir, target)
	if err != nil {
		return err
	}
	outcomes := make([]string, len(list))
	var mu sync.Mutex
	told := 0
	tell := func(i int, outcome string) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[i] = outcome
		for ; told < len(list) && outcomes[told] != ""; told++ {
			if o, at := outcomes[told], list[told].at; l.each || o == mutantSurvived || o == mutantUnreached {
				fmt.Fprintf(stdout, "%s %s:%d:%d: %s\n", o, at.Filename, at.Line, at.Column, list[told].what)
			}
		}
	}
	jobs, ctx := errgroup.WithContext(context.Background())
	jobs.SetLimit(max(l.jobs, 1))
	for i := range list {
		jobs.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			outcome, err := l.test(dir, i, &list[i], reaching(tests, list[i].at))
			if err == nil {
				tell(i, outcome)
			}
			return err
		})
	}
	if err := jobs.Wait(); err != nil {
		return err
	}
	counts := map[string]int{}
	for _, o := range outcomes {
		counts[o]++
	}
	killed, survived := counts[mutantKilled], counts[mutantSurvived]+counts[mutantUnreached]
	score, bound := scoreOf(killed, survived)
	fmt.Fprintf(stdout, "\n%d noticed, %d survived (%d of them run by no test), %d do not compile: %.1f %% noticed (95 %% of such draws lie within %.1f points)\n",
		killed, survived, counts[mutantUnreached], counts[mutantInvalid], score, bound)
	return nil
}

// scoreOf is the share of mistakes that were noticed, and how far the share of
// all may be from it (normal approximation, 95 %), both in percent.
func scoreOf(killed, survived int) (score, bound float64) {
	n := float64(killed + survived)
	if n == 0 {
		return 0, 100
	}
	p := float64(killed) / n
	return 100 * p, 196 * math.Sqrt(p*(1-p)/n)
}

// test builds the tests with a mistake and runs those that reach it, quick ones
// first.
func (l *mutantLab) test(dir string, number int, m *mutant, tests []testReach) (outcome string, err error) {
	dir, err = os.MkdirTemp(dir, fmt.Sprintf("%d-*", number))
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := overlayOf(dir, m)
	if err != nil {
		return "", err
	}
	outcome = mutantUnreached
	for i, pkg := range l.pkgs {
		own := slices.DeleteFunc(slices.Clone(tests), func(t testReach) bool { return t.pkg != pkg })
		if len(own) == 0 && i > 0 {
			continue
		}
		binary := filepath.Join(dir, "mutant.test")
		if said, err := l.build(binary, pkg, "-overlay", overlay); err != nil {
			if strings.Contains(said, "# ") { // the compiler names the package
				return mutantInvalid, nil
			}
			return "", fmt.Errorf("%s does not build: %w\n%s", pkg, err, said)
		}
		for _, names := range portions(own) {
			outcome = mutantSurvived
			if _, err := l.runTests(binary, pkg, names); err != nil {
				return mutantKilled, nil
			}
		}
	}
	return outcome, nil
}

// portions parts tests into runs, so that most mistakes are noticed before the
// slow tests start: of a second, then of four times as long and so on.
func portions(tests []testReach) [][]string {
	var out [][]string
	var names []string
	sum, limit := time.Duration(0), time.Second
	for _, t := range tests {
		names = append(names, t.name)
		if sum += t.took; sum > limit {
			out = append(out, names)
			names, sum, limit = nil, 0, 4*limit
		}
	}
	if len(names) > 0 {
		out = append(out, names)
	}
	return out
}

// overlayOf writes a file with the mistake and says to the compiler that it
// stands for the original.
func overlayOf(dir string, m *mutant) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, m.apply(source), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: changed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, text, 0o600)
}
