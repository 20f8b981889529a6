package ledger_test

import (
	"fmt"
	"strings"
	"testing"
)

// The protocol of a ledger file, small enough to try every order of steps: two
// processes take turns behind a gate, commit, write the head, answer; either
// may die at any step; the write-ahead log may lose its tail while nobody holds
// the file. Events are letters, a log is the text of its events, and a link is
// the log up to its event.
type world struct {
	file  string // what is durable in the database
	head  string // what the head file remembers
	acked string // ghost: the longest log that a caller was told is durable
	made  string // ghost: the longest log ever committed since the last repair
	gate  int8   // who holds the file, -1 nobody
	p     [2]process
	cuts  int8 // how often the log may still lose its tail
	dies  int8 // how often a process may still die
	alarm bool // the last opening reported a loss
}

type process struct {
	at   step
	view string // what it has folded
	want string // the log its running call will have made
	left int8   // calls still to make
}

type step int8

const (
	idle step = iota
	holding
	ready     // opened, checked, caught up
	answering // defect only: answered before commit
	committed
	headed
	released // defect only: gate left before the head
)

// defect is a seeded mistake in the protocol; each must break an invariant.
type defect int

const (
	none defect = iota
	answerBeforeCommit
	answerBeforeHead
	headBeforeCommit
	headNotChecked
	truncationAbsorbed
	gateLeftEarly
	noCatchUp
	noGate
)

var defects = map[defect]string{
	answerBeforeCommit: "answer before commit", answerBeforeHead: "answer before head", headBeforeCommit: "head before commit",
	headNotChecked: "head not checked at opening", truncationAbsorbed: "shorter log taken as the new head",
	gateLeftEarly: "gate left before the head is written", noCatchUp: "stale fold used after opening", noGate: "no gate",
}

type successor struct {
	w     world
	label string
	wrong string // an invariant that the step breaks
}

// next lists every step that can follow.
func (w world) next(d defect) []successor {
	var out []successor
	for i := range w.p {
		out = append(out, w.steps(i, d)...)
		if w.dies > 0 && w.p[i].at != idle {
			n := w
			n.dies--
			n.p[i] = process{left: w.p[i].left}
			if n.gate == int8(i) {
				n.gate = -1
			}
			out = append(out, successor{n, fmt.Sprint(i, " dies"), ""})
		}
	}
	if w.cuts > 0 && w.gate < 0 {
		for k := range len(w.file) {
			n := w
			n.cuts--
			n.file = w.file[:k]
			out = append(out, successor{n, fmt.Sprint("log cut to ", k), ""})
		}
	}
	if w.alarm && w.gate < 0 { // an operator accepts the loss
		n := w
		n.alarm = false
		n.head, n.made, n.acked = w.file, w.file, commonPrefix(w.acked, w.file)
		out = append(out, successor{n, "repair", ""})
	}
	return out
}

func commonPrefix(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[:i]
		}
	}
	return a[:min(len(a), len(b))]
}

func (w world) steps(i int, d defect) []successor {
	p := &w.p[i]
	one := func(n world, label, wrong string) []successor {
		return []successor{{n, fmt.Sprint(i, " ", label), wrong}}
	}
	switch p.at {
	case idle:
		if p.left == 0 || w.gate >= 0 && d != noGate || w.alarm {
			return nil
		}
		w.gate = int8(i)
		p.at = holding
		return one(w, "takes the gate", "")
	case holding:
		return w.open(i, d)
	case ready:
		if p.left == 0 {
			w.gate = -1
			p.at = idle
			return one(w, "lets go", "")
		}
		out := w.work(i, d)
		n := w
		n.gate = -1
		n.p[i].at = idle
		return append(out, successor{n, fmt.Sprint(i, " lets go"), ""})
	case answering:
		n, wrong := w.commit(i)
		n.p[i].at = headed
		n.head = n.file
		return one(n, "commits late", wrong)
	case committed:
		switch d {
		case answerBeforeHead:
			w.acked = longer(w.acked, p.want)
			p.at = headed
			return one(w, "answers before the head", "")
		case gateLeftEarly:
			w.gate = -1
			p.at = released
			return one(w, "leaves the gate early", "")
		}
		w.head = p.view
		p.at = headed
		return one(w, "writes the head", "")
	case released:
		w.head = p.view
		w.acked = longer(w.acked, p.want)
		p.at = idle
		return one(w, "writes the head outside", "")
	}
	w.acked = longer(w.acked, p.want)
	if d == answerBeforeHead {
		w.head = p.view // too late
	}
	p.at = ready
	return one(w, "answers", "")
}

func longer(a, b string) string {
	if len(b) > len(a) || !strings.HasPrefix(a, b) {
		return b
	}
	return a
}

// open is the check that every opening makes.
func (w world) open(i int, d defect) []successor {
	p := &w.p[i]
	lost := !strings.HasPrefix(w.file, w.head)
	if d == truncationAbsorbed && lost {
		w.head = w.file
	}
	if lost && d != headNotChecked && d != truncationAbsorbed {
		wrong := ""
		if strings.HasPrefix(w.file, w.made) {
			wrong = "a loss is reported and nothing was lost"
		}
		w.alarm = true
		w.gate = -1
		p.at = idle
		return []successor{{w, fmt.Sprint(i, " reports a loss"), wrong}}
	}
	wrong := ""
	if !strings.HasPrefix(w.file, w.acked) {
		wrong = "an acknowledged event is gone and nobody says so"
	}
	if d != noCatchUp || p.view == "" {
		p.view = w.file
	}
	p.at = ready
	return []successor{{w, fmt.Sprint(i, " opens"), wrong}}
}

// work begins a call.
func (w world) work(i int, d defect) []successor {
	p := &w.p[i]
	p.left--
	letter := string(rune('a' + 8*i + int(p.left)))
	p.want = p.view + letter
	switch d {
	case answerBeforeCommit:
		w.acked = longer(w.acked, p.want)
		p.at = answering
		return []successor{{w, fmt.Sprint(i, " answers before committing"), ""}}
	case headBeforeCommit:
		if w.head != p.want {
			n := w
			n.head = p.want
			n.p[i].at = answering
			return []successor{{n, fmt.Sprint(i, " writes the head first"), ""}}
		}
	}
	n, wrong := w.commit(i)
	n.p[i].at = committed
	return []successor{{n, fmt.Sprint(i, " commits"), wrong}}
}

// commit makes the call's event durable behind whatever the file holds.
func (w world) commit(i int) (world, string) {
	p := &w.p[i]
	wrong := ""
	if w.file != p.view {
		wrong = "an event is chained to a log that is not the file's"
	}
	w.file += p.want[len(p.want)-1:]
	p.view = w.file
	w.made = longer(w.made, w.file)
	return w, wrong
}

// explore walks every reachable world breadth first and returns their number
// and the first broken invariant with the steps to it.
func explore(d defect, calls, cuts, dies int8) (states int, broken string) {
	start := world{gate: -1, cuts: cuts, dies: dies}
	for i := range start.p {
		start.p[i].left = calls
	}
	type link struct {
		from  world
		label string
	}
	seen := map[world]link{start: {}}
	queue := []world{start}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		for _, s := range w.next(d) {
			if s.wrong != "" {
				trace := []string{s.label, s.wrong}
				for at := w; at != start; at = seen[at].from {
					trace = append([]string{seen[at].label}, trace...)
				}
				return len(seen), strings.Join(trace, "; ")
			}
			if _, ok := seen[s.w]; !ok {
				seen[s.w] = link{w, s.label}
				queue = append(queue, s.w)
			}
		}
	}
	return len(seen), ""
}

// TestProtocolHolds tries every order of steps: nothing acknowledged is lost
// without a word, no false alarm is raised, no event is chained to a log that
// is not the file's.
func TestProtocolHolds(t *testing.T) {
	states, broken := explore(none, 3, 2, 2)
	if broken != "" {
		t.Fatal(broken)
	}
	t.Logf("%d states", states)
	if states < 100_000 {
		t.Errorf("only %d states: the model is too small to say much", states)
	}
}

// TestProtocolDefectsAreFound: each seeded mistake breaks an invariant, so the
// model can fail.
func TestProtocolDefectsAreFound(t *testing.T) {
	for d, name := range defects {
		if states, broken := explore(d, 3, 2, 2); broken == "" {
			t.Errorf("%s: no invariant breaks in %d states", name, states)
		} else {
			t.Logf("%s: %s", name, broken)
		}
	}
}
