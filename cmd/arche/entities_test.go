package main

import "testing"

// A long list is cut where somebody reads along, and nowhere else unless asked.
func TestLongListsAreCutOnTerminals(t *testing.T) {
	for _, c := range []struct {
		name     string
		flags    listFlags
		found    int
		terminal bool
		want     int
	}{
		{"a pipe", listFlags{}, 1000, false, 1000},
		{"a terminal", listFlags{}, 1000, true, shownOnTerminal},
		{"a short list", listFlags{}, 3, true, 3},
		{"all", listFlags{all: true}, 1000, true, 1000},
		{"a limit on a terminal", listFlags{limit: 70}, 1000, true, 70},
		{"a limit in a pipe", listFlags{limit: 2}, 1000, false, 2},
		{"a limit beyond the list", listFlags{limit: 70}, 3, false, 3},
		{"none", listFlags{limit: 2}, 0, true, 0},
	} {
		if got := len(c.flags.first(make([]any, c.found), c.terminal)); got != c.want {
			t.Errorf("%s: %d shown, want %d", c.name, got, c.want)
		}
	}
}
