package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDefectsFitTheTree: every seeded defect still applies, and the test it
// names exists. That the tests catch them is shown by the defects command.
func TestDefectsFitTheTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there to apply patches with")
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	list, err := loadDefects(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Errorf("only %d defects", len(list))
	}
	for _, d := range list {
		if said, err := applyPatch(root, d.patch, "--check"); err != nil {
			t.Errorf("%s: %v\n%s", d.name, err, said)
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(d.pkg), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(data), "func "+d.test+"(")
		}
		if !found {
			t.Errorf("%s: %s has no %s", d.name, d.pkg, d.test)
		}
	}
}
