package documents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ErrKilled stands for a process that dies: nothing is tidied up after it.
var ErrKilled = errKilled

// SetStep makes f be told of every step of a write, and fail there.
func SetStep(b *Base, f func(step string) error) { b.step = f }

// SetFault makes f be asked before every change of a file ("file." and what is
// done) and every reading ("look.", what is done, and to which name), and fail it
// there. f is asked by one at a time.
func SetFault(b *Base, f func(op string) error) {
	if f == nil {
		b.disk.Fault = nil
		return
	}
	var mu sync.Mutex
	b.disk.Fault = func(op string) error {
		mu.Lock()
		defer mu.Unlock()
		return f(op)
	}
}

// SetPatience is how long calls wait for the project's lock.
func SetPatience(b *Base, d time.Duration) { b.patience = d }

// The parts that tests look at on their own.
var (
	QuickHead     = quickHead
	FindRefs      = findRefs
	Specificity   = specificity
	TemplateOf    = templateOf
	AddressOf     = addressOf
	StateDir      = stateDir
	MaxDocument   = int64(maxDocument)
	ParseSettings = func(data []byte) error { _, err := parseSettings(data); return err }
)

// RefText is a reference as FindRefs found it.
func RefText(r ref) (token string, at int, explicit bool) { return r.token, int(r.at), r.explicit }

// DecodeHead reads a metadata block with the full YAML reader.
func DecodeHead(block string) (title, status string, tags []string, err error) {
	h, _, err := decodeHead(block)
	return h.Title, h.Status, h.Tags, err
}

// Head takes a document apart.
func Head(text string) (title, status string, tags []string, body string, err error) {
	p := parseDocument(text)
	return p.head.Title, p.head.Status, p.head.Tags, p.body, p.err
}

// Apply is an update on a text.
func Apply(old string, r UpdateRequest) (string, error) {
	text, _, err := r.apply("x.md", old)
	return text, err
}

// Manifest parses and writes a manifest.
func Manifest(data []byte) ([]byte, int, error) {
	m, err := parseManifest(data)
	if err != nil {
		return nil, 0, err
	}
	return m.bytes(), len(m.relations), nil
}

// Excerpt cuts an excerpt around the first place where the lower-cased text
// holds word.
func Excerpt(raw, word string) (string, bool) {
	t := newText(raw)
	at := strings.Index(t.low, word)
	if at < 0 || word == "" {
		return "", false
	}
	return t.excerpt(t.original(at), t.original(at+len(word))), true
}

// Original gives back what newText was made of.
func Original(raw string) string { t := newText(raw); return t.slice(0, t.size()) }

// WordCount counts a word in a text through the lexicon.
func WordCount(texts []string, word string) []int {
	var v lexicon
	var counted []wordCounts
	for _, t := range texts {
		counted = append(counted, v.index(t))
	}
	f := v.find(word)
	var out []int
	for i, c := range counted {
		if c.whole {
			out = append(out, f.occurrences(c.counts))
		} else {
			out = append(out, countUpTo(texts[i], word))
		}
	}
	return out
}

// Interleave merges groups of n rows each and names them by group and place.
func Interleave(sizes []int, n int) []string {
	var groups [][]*document
	for g, size := range sizes {
		var rows []*document
		for i := range size {
			rows = append(rows, &document{path: fmt.Sprintf("%d.%d", g, i)})
		}
		if size > 0 {
			groups = append(groups, rows)
		}
	}
	var out []string
	for _, d := range interleave(groups, n) {
		out = append(out, d.path)
	}
	return out
}

// FoldLog is the documents and relations as a fresh fold of the ledger has
// them: path and address, and the relations.
func FoldLog(ctx context.Context, b *Base) ([]string, error) {
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	fresh := &Base{root: b.root, opts: b.opts, log: b.log, now: b.now, patience: writeWait, step: func(string) error { return nil }}
	fresh.hist.shared, fresh.hist.own = b.hist.shared, b.hist.own
	s, err := fresh.openStore(ctx, false, writeWait)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := fresh.refresh(ctx, s); err != nil {
		return nil, err
	}
	var out []string
	for _, rel := range slices.Sorted(maps.Keys(fresh.hist.docs)) {
		if l := fresh.hist.docs[rel]; l.live {
			out = append(out, rel+" "+l.address)
		}
	}
	var rels []string
	for t := range fresh.hist.rels {
		rels = append(rels, "rel "+t.Source+" "+t.Type+" "+t.Target)
	}
	slices.Sort(rels)
	return append(append(out, rels...), "settings "+fresh.hist.settings), nil
}

// LedgerOf is the ledger that a Base writes to.
func LedgerOf(b *Base) (interface{ Close() error }, int64) { return b.hist.own, b.hist.seq }

// HoldLock takes the project's lock until the returned function is called.
func HoldLock(ctx context.Context, t testing.TB, b *Base) (release func()) {
	t.Helper()
	s, err := b.openStore(ctx, false, writeWait)
	if err != nil {
		t.Fatal(err)
	}
	return s.close
}

// Guarded and Contain are what their namesakes are.
var Guarded = guarded

func Contain(b *Base, rel string) error { return b.contain(rel) }

// PickVersion is what its namesake is.
var PickVersion = pickVersion

// PageSize is what its namesake is.
var PageSize = pageSize
