package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/cover"
)

// testReach is one test and what it runs of the package under study.
type testReach struct {
	pkg    string // whose test it is, as go names the package
	name   string
	took   time.Duration
	blocks map[string][]cover.ProfileBlock // by file name without folder; all blocks, run or not
}

// reaches says whether the test runs the code at a place. known is false where
// the compiler counts nothing: declarations and the expressions of cases.
func (t *testReach) reaches(at token.Position) (run, known bool) {
	var least *cover.ProfileBlock
	for i := range t.blocks[at.Filename] {
		b := &t.blocks[at.Filename][i]
		if !within(b, at) {
			continue
		}
		// A function literal has blocks within the block that holds it.
		if least == nil || b.StartLine > least.StartLine || b.StartLine == least.StartLine && b.StartCol >= least.StartCol {
			least = b
		}
	}
	return least != nil && least.Count > 0, least != nil
}

func within(b *cover.ProfileBlock, at token.Position) bool {
	after := at.Line > b.StartLine || at.Line == b.StartLine && at.Column >= b.StartCol
	before := at.Line < b.EndLine || at.Line == b.EndLine && at.Column < b.EndCol
	return after && before
}

// reaching lists the tests that run a place, quick ones first; every test when
// nothing is known of the place.
func reaching(tests []testReach, at token.Position) []testReach {
	var out []testReach
	for i := range tests {
		if run, known := tests[i].reaches(at); run || !known {
			out = append(out, tests[i])
		}
	}
	slices.SortStableFunc(out, func(a, b testReach) int { return cmp.Compare(a.took, b.took) })
	return out
}

// reachOf runs each test of some packages alone and notes what it runs of target.
func (l *mutantLab) reachOf(dir, target string) ([]testReach, error) {
	var out []testReach
	for i, pkg := range l.pkgs {
		binary := filepath.Join(dir, fmt.Sprintf("reach%d.test", i))
		if said, err := l.build(binary, pkg, "-cover", "-coverpkg="+target); err != nil {
			return nil, fmt.Errorf("%s does not build without a mistake: %w\n%s", pkg, err, said)
		}
		names, err := l.names(binary, pkg)
		if err != nil {
			return nil, err
		}
		reached := make([]testReach, len(names))
		var jobs errgroup.Group
		jobs.SetLimit(max(l.jobs, 1))
		for n, name := range names {
			jobs.Go(func() (err error) {
				reached[n], err = l.reachTest(filepath.Join(dir, fmt.Sprintf("reach%d.%d.out", i, n)), binary, pkg, name)
				return err
			})
		}
		if err := jobs.Wait(); err != nil {
			return nil, err
		}
		out = append(out, reached...)
	}
	return out, nil
}

// reachTest runs one test. What processes of its own run is not seen.
func (l *mutantLab) reachTest(profile, binary, pkg, name string) (testReach, error) {
	started := time.Now()
	if said, err := l.runTests(binary, pkg, []string{name}, "-test.coverprofile="+profile); err != nil {
		return testReach{}, fmt.Errorf("%s of %s does not pass without a mistake: %w\n%s", name, pkg, err, said)
	}
	t := testReach{pkg: pkg, name: name, took: time.Since(started), blocks: map[string][]cover.ProfileBlock{}}
	list, err := cover.ParseProfiles(profile)
	if err != nil {
		return testReach{}, err
	}
	for _, p := range list {
		t.blocks[p.FileName[strings.LastIndexByte(p.FileName, '/')+1:]] = p.Blocks
	}
	return t, nil
}

// names lists what a test binary would run: tests, examples and the seeds of
// fuzz targets.
func (l *mutantLab) names(binary, pkg string) ([]string, error) {
	cmd := exec.Command(binary, "-test.list", cmp.Or(l.run, ".")) //nolint:gosec // built here
	cmd.Dir = filepath.Join(l.root, filepath.FromSlash(pkg))
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the tests of %s can't be listed: %w", pkg, err)
	}
	var out []string
	for name := range strings.FieldsSeq(string(text)) {
		if strings.HasPrefix(name, "Benchmark") || l.skip != nil && l.skip.MatchString(name) {
			continue
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no such test", pkg)
	}
	return out, nil
}

// build makes the test binary of a package.
func (l *mutantLab) build(binary, pkg string, flags ...string) (said string, err error) {
	args := append([]string{"test", "-c", "-o", binary}, flags...)
	cmd := exec.Command("go", append(args, pkg)...) //nolint:gosec // of this command's flags
	cmd.Dir = l.root
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// runTests runs some tests of a binary in the folder of their package.
func (l *mutantLab) runTests(binary, pkg string, names []string, flags ...string) (said string, err error) {
	args := append([]string{"-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.failfast", "-test.timeout", l.timeout.String()}, flags...)
	// The timeout of a test binary is not obeyed by a test that hangs in foreign code.
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // built here
	cmd.Dir = filepath.Join(l.root, filepath.FromSlash(pkg))
	// Tests whose inputs are drawn leave notes of failures in the tree; not here.
	// A program that counts says so on standard error, unless it is told where to.
	dir := filepath.Dir(binary)
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1", "TMPDIR="+dir, "GOCOVERDIR="+dir)
	cmd.WaitDelay = time.Second
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err = cmd.Run()
	return text.String(), err
}
