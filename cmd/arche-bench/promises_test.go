package main

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	childMain() // the commands below start this program again
	os.Exit(m.Run())
}

// TestPromisesInShort runs the short form of each command that tries to break a
// promise; each fails by itself when one is broken. The long forms run by hand.
func TestPromisesInShort(t *testing.T) {
	crash, fault, step := "1", "three", "41"
	if os.Getenv("ARCHE_LONG") != "" {
		crash, fault, step = "17", "", "1"
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"crash", "--kills", crash}, "| compare | " + crash + " |"},
		{[]string{"fault", "--only", fault, "--limits", "3", "--step", step}, "| three comparisons | fatal | "},
		{[]string{"soak", "--for", "1500ms", "--growth", "2"}, "after the warm-up"},
		{[]string{"contend", "--rounds", "0", "--for", "0", "--histories", "1", "--history-calls", "6"}, "48 calls: all linearizable"},
	} {
		t.Run(x.args[0], func(t *testing.T) {
			out := command0(t, x.args...)
			if !strings.HasPrefix(out, "seed ") || !strings.Contains(out, x.want) {
				t.Errorf("the table lacks %q:\n%s", x.want, out)
			}
		})
	}
}
