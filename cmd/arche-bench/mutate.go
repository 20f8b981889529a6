package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// runMutate makes small mistakes in the source of a package, one at a time and
// only in what the compiler sees, and counts those that its tests notice.
func runMutate(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	pkg := flags.String("package", "./attest", "package to make mistakes in")
	tests := flags.String("tests", "", "packages whose tests must notice, separated by spaces; none is the package's own")
	files := flags.String("files", "", "take only these files, separated by commas")
	run := flags.String("run", "", "take only tests that match")
	skip := flags.String("skip", "", "leave out tests that match")
	count := flags.Int("count", 50, "mistakes to make, drawn without repetition; 0 is all")
	timeout := flags.Duration("timeout", 2*time.Minute, "for one run of the tests; one that takes longer has noticed")
	seed := flags.Uint64("seed", 0, "seed of the draw; 0 draws one")
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
	lab := &mutantLab{root: root, pkgs: strings.Fields(*tests), run: *run, skip: *skip, timeout: *timeout, each: *each}
	if len(lab.pkgs) == 0 {
		lab.pkgs = []string{*pkg}
	}
	fmt.Fprintf(stdout, "%d of %d mistakes in %s, noticed by %s\n\n", len(all), total, *pkg, strings.Join(lab.pkgs, " "))
	return lab.try(all, stdout)
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

// mutantLab runs tests over a tree in which one file is replaced for the compiler.
type mutantLab struct {
	root      string
	pkgs      []string
	run, skip string
	timeout   time.Duration
	each      bool
}

// What became of a mutant.
const (
	mutantKilled   = "noticed"
	mutantSurvived = "SURVIVED"
	mutantInvalid  = "does not compile"
)

func (l *mutantLab) try(list []mutant, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "arche-mutate-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if out, said, err := l.test(dir, nil); err != nil || out != mutantSurvived {
		return fmt.Errorf("the tests do not pass without a mistake (%s): %w\n%s", out, err, said)
	}
	counts := map[string]int{}
	for i := range list {
		m := &list[i]
		outcome, _, err := l.test(dir, m)
		if err != nil {
			return err
		}
		counts[outcome]++
		if outcome == mutantSurvived || l.each {
			fmt.Fprintf(stdout, "%s %s:%d:%d: %s\n", outcome, m.at.Filename, m.at.Line, m.at.Column, m.what)
		}
	}
	killed, survived := counts[mutantKilled], counts[mutantSurvived]
	score, bound := scoreOf(killed, survived)
	fmt.Fprintf(stdout, "\n%d noticed, %d survived, %d do not compile: %.1f %% noticed (95 %% of such draws lie within %.1f points)\n",
		killed, survived, counts[mutantInvalid], score, bound)
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

// test runs the tests with a mistake, or without any.
func (l *mutantLab) test(dir string, m *mutant) (outcome, said string, err error) {
	args := []string{"test", "-count=1", "-vet=off", "-failfast", "-timeout", l.timeout.String()}
	if m != nil {
		overlay, err := overlayOf(dir, m)
		if err != nil {
			return "", "", err
		}
		args = append(args, "-overlay", overlay)
	}
	if l.run != "" {
		args = append(args, "-run", l.run)
	}
	if l.skip != "" {
		args = append(args, "-skip", l.skip)
	}
	// The timeout of go test is not obeyed by a test that hangs in foreign code.
	ctx, cancel := context.WithTimeout(context.Background(), 2*l.timeout+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, l.pkgs...)...) //nolint:gosec // of this command's flags
	cmd.Dir = l.root
	// Tests whose inputs are drawn leave notes of failures in the tree; not here.
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1")
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err = cmd.Run()
	said = text.String()
	switch {
	case err == nil:
		return mutantSurvived, said, nil
	case strings.Contains(said, "[build failed]"), strings.Contains(said, "[setup failed]"):
		return mutantInvalid, said, nil
	case ctx.Err() != nil, strings.Contains(said, "FAIL"), strings.Contains(said, "panic:"):
		return mutantKilled, said, nil
	}
	return "", said, fmt.Errorf("the tests ended otherwise: %w\n%s", err, said)
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
