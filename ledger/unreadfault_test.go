package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
)

// unreadVerb is a call on a ledger that has its state and has read no content
// yet, as after a while of other work.
type unreadVerb struct {
	name   string
	before func(f *forge) error // what the ledger is given first
	call   func(ctx context.Context, f *forge) (*canon.Object, error)
	spared bool // an operation may fail without a word, and the answer is the same
}

// compare compares two records.
func (f *forge) compare(ctx context.Context, a, b *canon.Object) error {
	_, err := f.l.Compare(ctx, byEntity([]*canon.Object{a}, []*canon.Object{b}))
	return err
}

// erase forgets the values of a record.
func (f *forge) erase(ctx context.Context, rec *canon.Object) error {
	id, err := publicRecordID(rec, "organisation")
	if err == nil {
		_, err = f.l.Forget(ctx, ForgetRequest{Addresses: []string{id}, Reason: "asked to"})
	}
	return err
}

func registered(id, name, number string) *canon.Object {
	return canon.Obj("id", id, "name", name, "registration_id", number)
}

// rivals are two entities whose members carry other numbers, both near one name.
func rivals(f *forge) error {
	ctx := context.Background()
	return errors.Join(
		f.compare(ctx, registered("r1", "Womuba Transport Ltd", "W-1"), registered("r2", "Womuba Transport Limited", "W-1")),
		f.compare(ctx, registered("r3", "Womuba Transport", "W-2"), registered("r4", "Womuba Transport Plc", "W-2")))
}

var unreadVerbs = []unreadVerb{
	{name: "entities", call: func(ctx context.Context, f *forge) (*canon.Object, error) { return f.l.Entities(ctx, "") }},
	{name: "cases", call: func(ctx context.Context, f *forge) (*canon.Object, error) { return f.l.Cases(ctx, "") }},
	{name: "decision", call: func(ctx context.Context, f *forge) (*canon.Object, error) { return f.l.Decision(ctx, f.decisions[0]) }},
	{name: "compare two entities", before: rivals, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return nil, f.compare(ctx, canon.Obj("id", "r2", "name", "Womuba Transport Limited", "registration_id", "W-1"), canon.Obj("id", "r5", "name", "Womuba Transport"))
	}},
	{name: "compare two entities in a long unit", before: rivals, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		f.l.long, f.l.held = 1, 3
		defer func() { f.l.long, f.l.held = longUnit, unitHeld }()
		return nil, f.compare(ctx, registered("r2", "Womuba Transport Limited", "W-1"), registered("r3", "Womuba Transport", "W-2"))
	}},
	{name: "compare what was erased", before: func(f *forge) error {
		return f.erase(context.Background(), oneNamed("y", "Harmuko Foods")[0])
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return nil, f.compare(ctx, oneNamed("y", "Harmuko Foods")[0], oneNamed("x", "Harmuko Foods Ltd")[0])
	}},
	{name: "compare what was erased in a long unit", before: func(f *forge) error {
		return f.erase(context.Background(), oneNamed("y", "Harmuko Foods")[0])
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		f.l.long, f.l.held = 1, 3
		defer func() { f.l.long, f.l.held = longUnit, unitHeld }()
		return nil, f.compare(ctx, oneNamed("x", "Harmuko Foods Ltd")[0], oneNamed("y", "Harmuko Foods")[0])
	}},
	{name: "resolve the only one, erased", before: func(f *forge) error {
		ctx := context.Background()
		out, err := f.l.Resolve(ctx, canon.Obj("name", "Amina Otieno"), "person")
		if err != nil {
			return err
		}
		id, _ := out.Value("record_id").(string)
		_, err = f.l.Forget(ctx, ForgetRequest{Addresses: []string{id}, Reason: "asked to"})
		return err
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return f.l.Resolve(ctx, canon.Obj("name", "Amina Otieno"), "person")
	}},
	{name: "resolve one that bridges", before: rivals, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return f.l.Resolve(ctx, canon.Obj("name", "Womuba Transport Ltd", "registration_id", "W-3"), "organisation")
	}},
	{name: "resolve through the index", spared: true, before: func(f *forge) error {
		f.l.index.least, f.l.index.most = 2, 4
		return f.compare(context.Background(), registered("r1", "Womuba Transport Ltd", "W-1"), registered("r2", "Womuba Transport Limited", "W-1"))
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return f.l.Resolve(ctx, canon.Obj("name", "Womuba Transport", "registration_id", "W-3"), "organisation")
	}},
	{name: "observe what is known", call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return f.l.Observe(ctx, f.record, canon.Obj("name", "Kijani Tea Exporters Ltd"))
	}},
	{name: "observe what is known again", before: func(f *forge) error {
		_, err := f.l.Observe(context.Background(), f.record, canon.Obj("name", "Kijani Tea Exporters Ltd"))
		return err
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return f.l.Observe(ctx, f.record, canon.Obj("name", "Kijani Tea Exporters Ltd"))
	}},
	{name: "observe what makes an erased record", before: func(f *forge) error {
		ctx, rec := context.Background(), registered("a", "Kijani Tea Exporters Ltd", "K-9")
		return errors.Join(f.compare(ctx, rec, oneNamed("x", "Harmuko Foods Ltd")[0]), f.erase(ctx, rec))
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) {
		return f.l.Observe(ctx, f.record, canon.Obj("registration_id", "K-9"))
	}},
	{name: "verify", call: func(ctx context.Context, f *forge) (*canon.Object, error) { return nil, f.l.Verify(ctx, nil) }},
	{name: "rebuild with an index", before: func(f *forge) error {
		f.l.index.least, f.l.index.most = 2, 4
		return f.compare(context.Background(), registered("r1", "Womuba Transport Ltd", "W-1"), registered("r2", "Womuba Transport Limited", "W-1"))
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) { return nil, f.l.Rebuild(ctx) }},
	{name: "verify with an index", before: func(f *forge) error {
		f.l.index.least, f.l.index.most = 2, 4
		return f.compare(context.Background(), registered("r1", "Womuba Transport Ltd", "W-1"), registered("r2", "Womuba Transport Limited", "W-1"))
	}, call: func(ctx context.Context, f *forge) (*canon.Object, error) { return nil, f.l.Verify(ctx, nil) }},
}

// anew gives the ledger its first log again, and what the verb needs.
func (f *forge) anew(v unreadVerb) {
	f.t.Helper()
	f.write(f.events)
	f.l.index = newIndexKeeper()
	f.use("DELETE FROM index_parts")
	err := f.l.Rebuild(f.t.Context())
	if err == nil && v.before != nil {
		err = v.before(f)
	}
	if err != nil {
		f.t.Fatalf("%s: %v", v.name, err)
	}
}

// end is the last event's place.
func (f *forge) end() int64 {
	f.t.Helper()
	_, n, _, err := f.l.Head(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// gist is what an answer of resolve says but for times.
func gist(out *canon.Object) string {
	var b strings.Builder
	for _, key := range []string{"verdict", "note", "record_id", "candidates", "entity_evidence", "conflicting_fields"} {
		text, _ := canon.Compact(out.Value(key))
		b.Write(text)
	}
	return b.String()
}

// TestUnreadVerbsEndWithTheirContext ends the context of reading verbs at each
// question that they ask, with nothing read yet: they fail or are done, and told
// again they tell everything.
func TestUnreadVerbsEndWithTheirContext(t *testing.T) {
	f, ended := newForge(t), 0
	for _, v := range unreadVerbs[:3] {
		for n := 1; ; n++ {
			f.unread()
			ctx := arctest.NewCountdown(t.Context(), n)
			out, err := v.call(ctx, f)
			if !ctx.Ended() {
				if err != nil {
					t.Errorf("%s: %v", v.name, err)
				}
				break
			}
			if ended++; err == nil && out == nil || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s, question %d: %v %v", v.name, n, out, err)
			}
		}
	}
	if ended < 10 {
		t.Errorf("only %d contexts ended", ended)
	}
	f.unread()
	if got := f.answers(); !slices.Equal(got, f.plain) {
		t.Errorf("answers %v, want %v", got, f.plain)
	}
}

// TestFailedReadingsOfTheUnread fails every statement of calls on a ledger that
// has its state and no contents, in turn: the call fails, nothing of it is there,
// and the next call does what it would have done.
func TestFailedReadingsOfTheUnread(t *testing.T) {
	f, failed := newForge(t), 0
	errDisk := errors.New("IO Error: Could not read from file: Input/output error")
	for _, v := range unreadVerbs {
		f.anew(v)
		spared := map[string]bool{}
		for n := 1; ; n++ {
			if _, err := f.l.LastTime(t.Context()); err != nil { // the state is taken
				t.Fatal(err)
			}
			f.unread()
			head, at, hit := f.end(), 0, ""
			f.seam = func(op string) error {
				if at++; at == n {
					hit = op
					return errDisk
				}
				return nil
			}
			out, err := v.call(t.Context(), f)
			f.seam = nil
			if v.spared && err == nil {
				spared[gist(out)] = true
				f.anew(v)
			}
			if hit == "" {
				if err != nil {
					t.Errorf("%s: %v", v.name, err)
				}
				break
			}
			failed++
			switch {
			case err == nil && !v.spared:
				t.Errorf("%s: operation %d (%s) failed and the answer is as if it had not", v.name, n, hit)
			case err == nil:
			case !strings.Contains(err.Error(), errDisk.Error()):
				t.Errorf("%s: operation %d (%s): the error is not told: %v", v.name, n, hit, err)
			case f.end() != head:
				t.Errorf("%s: operation %d (%s) failed and left events %d to %d", v.name, n, hit, head+1, f.end())
			}
			if err == nil && !v.spared {
				break
			}
		}
		if v.spared && len(spared) != 1 {
			t.Errorf("%s: what failed changed the answer: %v", v.name, slices.Sorted(maps.Keys(spared)))
		}
		if err := f.l.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
	if failed < 150 {
		t.Errorf("only %d statements were failed", failed)
	}
}
