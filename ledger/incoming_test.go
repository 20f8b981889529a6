package ledger

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// incoming are the events of the forge as another program hands them over.
func (f *forge) incoming() []Incoming {
	out := make([]Incoming, len(f.events))
	for n := range f.events {
		e := &f.events[n]
		out[n] = Incoming{
			Version: e.version, Kind: e.kind, Subject: e.subject, Supersedes: e.supersedes, Body: e.body,
			Actor: e.actor, RecordedAt: e.recordedAt, ID: e.id,
		}
		for _, b := range f.blobs {
			if b[2] == e.seq {
				out[n].Blobs = append(out[n].Blobs, Blob{b[0].(string), b[1].([]byte)})
			}
		}
	}
	return out
}

func handed(list []Incoming, last error) iter.Seq2[Incoming, error] {
	return func(yield func(Incoming, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
		if last != nil {
			yield(Incoming{}, last)
		}
	}
}

func (f *forge) link() string { return f.events[len(f.events)-1].link }

// TestEventsThatComeInAreTheLedger: a ledger founded on events is the one they
// came from, contents and answers and all.
func TestEventsThatComeInAreTheLedger(t *testing.T) {
	f := newForge(t)
	want, err := f.l.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "new.duckdb")
	looked := false
	err = Found(t.Context(), path, Options{}, f.link(), handed(f.incoming(), nil), func(l *Ledger) error {
		looked = true
		return nil
	})
	if err != nil || !looked {
		t.Fatalf("looked %v, %v", looked, err)
	}
	l, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rows, err := l.Dump(t.Context())
	if diff := cmp.Diff(want, rows); err != nil || diff != "" {
		t.Errorf("%v (-ledger +founded)\n%s", err, diff)
	}
	founded := &forge{t: t, l: l, decisions: f.decisions}
	if diff := cmp.Diff(f.plain, founded.answers()); diff != "" {
		t.Errorf("(-ledger +founded)\n%s", diff)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"the place is taken": Found(t.Context(), path, Options{}, f.link(), handed(f.incoming(), nil), nil),
		"no folder":          Found(t.Context(), filepath.Join(path, "x", "y.duckdb"), Options{}, f.link(), handed(f.incoming(), nil), nil),
	} {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEventsThatDoNotFitAreRefused: nothing appears when anything that comes in
// is not what it says.
func TestEventsThatDoNotFitAreRefused(t *testing.T) {
	f := newForge(t)
	broken, dir := errors.New("broken"), t.TempDir()
	run, decision := f.place(KindRunRecorded), f.place(KindDecisionRecorded)
	list := ContentAddress("lst", []byte(`{"a":1}`))
	longList := func(e *Incoming) {
		o, err := f.events[run].Body()
		if err != nil {
			t.Fatal(err)
		}
		o.Set("a", list)
		e.Body, e.ID = string(must8785(t, o)), ""
	}
	for name, x := range map[string]struct {
		change func(list []Incoming)
		link   string
		last   error
		check  error
		want   string
	}{
		"another address":     {change: func(list []Incoming) { list[2].ID = list[1].ID }, want: "event 3 does not have the address"},
		"another body":        {change: func(list []Incoming) { list[0].Body = strings.Replace(list[0].Body, "a", "b", 1) }, want: "event 1 does not have the address"},
		"another content":     {change: func(list []Incoming) { list[1].Blobs[0].Bytes = []byte("x") }, want: "the first at event 2: blobs bytes"},
		"a time before":       {change: func(list []Incoming) { list[4].RecordedAt = list[0].RecordedAt.Add(-time.Second) }, want: "event 5 is earlier than the one before it"},
		"another time":        {change: func(list []Incoming) { list[decision].RecordedAt = list[decision].RecordedAt.Add(time.Microsecond) }, want: ""},
		"another actor":       {change: func(list []Incoming) { list[decision].Actor = "mallory" }, want: "the events do not end in the link"},
		"a list that is gone": {change: func(l []Incoming) { longList(&l[run]) }, want: "event 3: its list lst:blake3:"},
		"a list that is none": {change: func(l []Incoming) {
			longList(&l[run])
			l[run].Blobs = append(l[run].Blobs, Blob{list, []byte(`{"a":1}`)})
		}, want: "is not a list"},
		"no score":                {change: func(list []Incoming) { list[decision].Body, list[decision].ID = `{"verb":"x"}`, "" }, want: "its body has no score"},
		"no record":               {change: func(list []Incoming) { list[0].Subject, list[0].ID, list[0].Blobs = "x", "", nil }, want: "its subject is no record id"},
		"a reading that fails":    {last: broken, want: "broken"},
		"another end":             {link: strings.Repeat("0", 64), want: "the events do not end in the link"},
		"the last one left out":   {change: func(list []Incoming) { list[len(list)-1] = list[len(list)-2] }, want: ""},
		"a check that is not met": {check: broken, want: "broken"},
	} {
		events := f.incoming()
		for n := range events {
			events[n].Blobs = slices.Clone(events[n].Blobs)
		}
		if x.change != nil {
			x.change(events)
		}
		link := x.link
		if link == "" {
			link = f.link()
		}
		err := Found(t.Context(), filepath.Join(dir, "new.duckdb"), Options{}, link, handed(events, x.last), func(*Ledger) error { return x.check })
		if err == nil || !strings.Contains(err.Error(), x.want) || !errors.Is(err, broken) && fault.As(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Fatalf("%s left %v, %v", name, left, err)
		}
	}
}

// TestEventsThatCannotBeWrittenAreTold fails every statement that the founding of a
// ledger makes, in turn: the caller is told, whatever it is.
func TestEventsThatCannotBeWrittenAreTold(t *testing.T) {
	f, broken := newForge(t), errors.New("IO Error: Could not write file: Input/output error")
	failed := 0
	for n := 1; ; n++ {
		at, on, hit := 0, false, ""
		l, err := Open("duckdb:///:memory:", Options{Fault: func(op string) error {
			if !on {
				return nil
			}
			if at++; at == n {
				hit = op
				return broken
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := l.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
		on = true
		err = l.found(t.Context(), f.link(), handed(f.incoming(), nil))
		on = false
		if hit != "" && !errors.Is(err, broken) || hit == "" && err != nil {
			t.Errorf("operation %d (%s): %v", n, hit, err)
		}
		if hit == "" {
			if err := l.Verify(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
		_ = l.Close()
		if hit == "" {
			break
		}
		failed++
	}
	if failed < 10 {
		t.Errorf("only %d statements were failed", failed)
	}
}

// TestLargeContentsComeInPieceByPiece: contents are written as they come; no
// piece is lost between two writings.
func TestLargeContentsComeInPieceByPiece(t *testing.T) {
	l := inside(t)
	var list []Incoming
	link, at := zeroLink, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n := range 3 {
		data := []byte(strings.Repeat(string(rune('a'+n)), intakeMost/2+1))
		doc := ContentAddress("doc", data)
		e := Event{
			log: logMain, seq: int64(n + 1), version: 1, kind: "document.written", subject: "doc:" + string(rune('a'+n)), actor: "ada",
			body: string(must8785(t, canon.Obj("address", doc))), recordedAt: at,
		}
		e.id = eventID(1, e.kind, e.subject, "", e.body)
		e.link = chainLink(link, &e)
		link = e.link
		list = append(list, Incoming{Version: 1, Kind: e.kind, Subject: e.subject, Body: e.body, Actor: "ada", RecordedAt: at, Blobs: []Blob{{doc, data}}})
	}
	var writes int
	l.opts.Fault = nil
	if err := l.found(t.Context(), link, func(yield func(Incoming, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
			writes++
		}
	}); err != nil {
		t.Fatal(err)
	}
	l.state = nil
	if err := l.Verify(t.Context(), nil); err != nil || writes != 3 {
		t.Error(writes, err)
	}
	for _, e := range list {
		if data, err := l.Blob(t.Context(), e.Blobs[0].Address); err != nil || len(data) != len(e.Blobs[0].Bytes) {
			t.Errorf("%s: %d bytes, %v", e.Subject, len(data), err)
		}
	}
}

// TestOnlyAnEmptyLedgerIsRemoved: a file with events stays, with all of them.
func TestOnlyAnEmptyLedgerIsRemoved(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "l.duckdb")
	use := func(fn func(l *Ledger)) {
		t.Helper()
		l, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fn(l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	use(func(l *Ledger) {
		if o, err := l.Entities(ctx, ""); err != nil || o.Value("count") != 0 {
			t.Fatal(o, err)
		}
	})
	if removed, err := RemoveEmpty(ctx, path, Options{}); err != nil || !removed {
		t.Errorf("removed %v, %v", removed, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	use(func(l *Ledger) {
		oneEdge(t, l, oneNamed("a", "Kijani Tea Exporters Ltd")[0], oneNamed("b", "Kijani Tea Exporters Limited")[0])
	})
	if removed, err := RemoveEmpty(ctx, path, Options{}); err != nil || removed {
		t.Errorf("removed %v, %v", removed, err)
	}
	use(func(l *Ledger) {
		if o, err := l.Entities(ctx, ""); err != nil || o.Value("count") != 1 {
			t.Error(o, err)
		}
	})
	for _, uri := range []string{"", "postgres://x", filepath.Join(path, "x")} {
		if removed, err := RemoveEmpty(ctx, uri, Options{}); !fault.Is(err, fault.Invalid) || removed {
			t.Errorf("%q: removed %v, %v", uri, removed, err)
		}
	}
}

// TestUnreadableNoteOfContents: a file that says wrongly from which event on its
// contents are there is damaged, and said to be.
func TestUnreadableNoteOfContents(t *testing.T) {
	f := newForge(t)
	for _, value := range []string{"x", "", "0", "-1", "1.5"} {
		f.use(`INSERT INTO meta VALUES ('` + metaContents + `', '` + value + `')`)
		f.forget()
		for _, err := range []error{
			f.l.Verify(t.Context(), nil),
			func() error { _, err := f.l.Entities(t.Context(), ""); return err }(),
		} {
			if !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), "from which event on contents are in it") {
				t.Errorf("%q: %v", value, err)
			}
		}
		f.use(`DELETE FROM meta WHERE key = '` + metaContents + `'`)
	}
	f.forget()
	if diff := cmp.Diff(f.plain, f.answers()); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}
