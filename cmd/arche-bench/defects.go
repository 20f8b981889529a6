package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// defect is a seeded mistake: a patch, and the test that must notice it.
type defect struct {
	name  string   // of the file, without .patch
	what  string   // what is wrong
	pkg   string   // package of the test, as go test names it
	test  string   // the test
	patch string   // path of the patch
	files []string // what it changes, slash separated
}

// defectFolder is where the patches lie in the tree.
const defectFolder = "testdata/defects"

// runDefects copies the tree, makes one mistake at a time in the copy, and
// shows that the named test fails with it and passes without.
func runDefects(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("defects", flag.ContinueOnError)
	only := flags.String("only", "", "take only defects whose name holds this text")
	timeout := flags.Duration("timeout", 3*time.Minute, "for one run of one test")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	list, err := loadDefects(root)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(d defect) bool { return !strings.Contains(d.name, *only) })
	if len(list) == 0 {
		return fmt.Errorf("no defect has %q in its name", *only)
	}
	dir, err := os.MkdirTemp("", "arche-defects-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(root, dir); err != nil {
		return err
	}
	lab := &defectLab{dir: dir, timeout: *timeout, out: stdout}
	return lab.run(list)
}

// moduleRoot is the folder of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("run this within the source tree: there is no go.mod above")
		}
		dir = up
	}
}

// loadDefects reads the heads of all patches, in the order of their names.
func loadDefects(root string) ([]defect, error) {
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(defectFolder), "*.patch"))
	if err != nil {
		return nil, err
	}
	var out []defect
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		d := defect{name: strings.TrimSuffix(filepath.Base(p), ".patch"), patch: p}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			if text, ok := strings.CutPrefix(line, "Defect: "); ok {
				d.what = text
			} else if text, ok := strings.CutPrefix(line, "Test: "); ok {
				d.pkg, d.test, _ = strings.Cut(text, " ")
			} else if text, ok := strings.CutPrefix(line, "+++ b/"); ok {
				d.files = append(d.files, text)
			}
		}
		if d.what == "" || d.pkg == "" || d.test == "" || len(d.files) == 0 {
			return nil, fmt.Errorf("%s must say Defect:, Test: package and name, and change a file", d.name)
		}
		out = append(out, d)
	}
	return out, nil
}

// copyTree copies what is needed to build and test, without history and builds.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir() && strings.HasPrefix(e.Name(), ".git") && rel != ".":
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	})
}

// defectLab is a copy of the tree to make mistakes in.
type defectLab struct {
	dir     string
	timeout time.Duration
	out     io.Writer
}

func (l *defectLab) run(list []defect) error {
	var packages []string
	tests := map[string][]string{}
	for _, d := range list {
		if !slices.Contains(packages, d.pkg) {
			packages = append(packages, d.pkg)
		}
		if !slices.Contains(tests[d.pkg], d.test) {
			tests[d.pkg] = append(tests[d.pkg], d.test)
		}
	}
	for _, p := range packages {
		ran, said, err := l.test(p, tests[p])
		if err != nil || ran != len(tests[p]) {
			return fmt.Errorf("without any defect the %d tests of %s do not pass (%d ran): %w\n%s", len(tests[p]), p, ran, err, said)
		}
		fmt.Fprintf(l.out, "without a defect: %s passes %s\n", p, strings.Join(tests[p], ", "))
	}
	fmt.Fprintf(l.out, "\n| %-32s | %-46s | %-10s | s |\n|---|---|---|---|\n", "defect", "test", "outcome")
	missed := 0
	for _, d := range list {
		start := time.Now()
		outcome, err := l.try(d)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if outcome != "caught" {
			missed++
		}
		fmt.Fprintf(l.out, "| %-32s | %-46s | %-10s | %.0f |\n", d.name, d.pkg+" "+d.test, outcome, time.Since(start).Seconds())
	}
	fmt.Fprintf(l.out, "\n%d of %d defects caught\n", len(list)-missed, len(list))
	if missed > 0 {
		return fmt.Errorf("%d defects were not caught", missed)
	}
	return nil
}

// try makes one mistake, runs its test and takes the mistake back.
func (l *defectLab) try(d defect) (outcome string, err error) {
	for _, f := range d.files {
		path := filepath.Join(l.dir, filepath.FromSlash(f))
		before, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		defer func() { _ = os.WriteFile(path, before, 0o600) }()
	}
	if said, err := applyPatch(l.dir, d.patch); err != nil {
		return "", fmt.Errorf("the patch does not fit the tree any more: %w\n%s", err, said)
	}
	_, said, err := l.test(d.pkg, []string{d.test})
	switch {
	case err == nil:
		return "MISSED", nil
	case strings.Contains(said, "[build failed]"):
		return "", fmt.Errorf("the tree does not compile with it:\n%s", said)
	case strings.Contains(said, "--- FAIL: "+d.test), strings.Contains(said, "panic: "):
		return "caught", nil
	}
	return "", fmt.Errorf("the test run ended otherwise: %w\n%s", err, said)
}

// applyPatch applies a unified diff to a tree; flags may add --check.
func applyPatch(dir, patch string, flags ...string) (said string, err error) {
	cmd := exec.Command("git", append(append([]string{"apply", "-C1"}, flags...), patch)...) //nolint:gosec // the tree's own patches
	cmd.Dir = dir
	// The copy may lie below another repository, which must not matter.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// test runs some tests of a package and counts those that ran.
func (l *defectLab) test(pkg string, names []string) (ran int, said string, err error) {
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-v", "-timeout", l.timeout.String(), //nolint:gosec // named by the tree's own patches
		"-run", "^("+strings.Join(names, "|")+")$", pkg)
	cmd.Dir = l.dir
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err = cmd.Run()
	for _, n := range names {
		if strings.Contains(text.String(), "=== RUN   "+n+"\n") {
			ran++
		}
	}
	return ran, text.String(), err
}
