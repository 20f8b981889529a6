package ledger

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// place is the first event of a kind.
func (f *forge) place(kind string) int {
	f.t.Helper()
	for n := range f.events {
		if f.events[n].kind == kind {
			return n
		}
	}
	f.t.Fatalf("no event of kind %s", kind)
	return -1
}

// TestForgedEventsAreNamedOrTold changes what an event says of itself: its
// subject, its kind and version, what it supersedes. Those that name what was
// never stored are refused, what is newer is skipped, and all else is told in one
// way.
func TestForgedEventsAreNamedOrTold(t *testing.T) {
	f := newForge(t)
	unknown, foreign := "rec:sha256:"+strings.Repeat("0", 64), "the third decision of "+strings.Repeat("long ", 10)
	old := f.decisions[0]
	f.decisions = append(f.decisions, foreign)
	for _, x := range []struct {
		name, kind string
		refused    bool
		change     func(e *Event)
	}{
		{"a record of no address", KindRecordStored, true, func(e *Event) { e.subject = "x" }},
		{"a record of another address", KindRecordStored, true, func(e *Event) { e.subject = unknown }},
		{"a run of no address", KindRunRecorded, true, func(e *Event) { e.subject = "run:blake3:x" }},
		{"a decision of nothing", KindDecisionRecorded, true, func(e *Event) { e.subject = "x" }},
		{"a decision of one record", KindDecisionRecorded, true, func(e *Event) { e.subject, _, _ = strings.Cut(e.subject, "|") }},
		{"a decision of an unknown record", KindDecisionRecorded, true, func(e *Event) { e.subject = old + "@" + unknown + "|" + f.record }},
		{"a decision of another unknown record", KindDecisionRecorded, true, func(e *Event) { e.subject = old + "@" + f.record + "|" + unknown }},
		{"a decision of itself", KindDecisionRecorded, false, func(e *Event) { e.subject = old + "@" + f.record + "|" + f.record }},
		{"a decision of another name", KindDecisionRecorded, true, func(e *Event) { e.subject = "y" + e.subject }},
		{"a decision with a name of its own", KindDecisionRecorded, false, func(e *Event) {
			e.subject, e.body = strings.Replace(e.subject, old, foreign, 1), strings.Replace(e.body, old, foreign, 1)
		}},
		{"a decision of an unknown run", KindDecisionRecorded, false, func(e *Event) {
			e.body = strings.Replace(e.body, `"run":"run:blake3:`, `"run":"run:blake3:0`, 1)
		}},
		{"a decision that supersedes an unknown one", KindDecisionRecorded, false, func(e *Event) {
			e.supersedes = eventPrefix + strings.Repeat("0", 64)
		}},
		{"a decision that supersedes a record", KindDecisionRecorded, false, func(e *Event) { e.supersedes = f.events[0].id }},
		{"a review that links", KindDecisionRecorded, false, func(e *Event) { e.body = strings.Replace(e.body, `"identity":"match"`, `"identity":"review"`, 1) }},
		{"an observation of nothing", KindEvidenceObserved, true, func(e *Event) { e.subject = "obs:x" }},
		{"an observation of an unknown record", KindEvidenceObserved, true, func(e *Event) { e.subject = "obs:" + unknown }},
		{"an operator's word on nothing", KindOperatorDecided, true, func(e *Event) { e.subject = "x" }},
		{"an operator's word on one record", KindOperatorDecided, true, func(e *Event) { e.subject = "pair:" + f.record + "|x" }},
		{"an operator's word on an unknown record", KindOperatorDecided, true, func(e *Event) { e.subject = "pair:" + unknown + "|" + f.record }},
		{"an erasure of nothing", KindValuesErased, false, func(e *Event) { e.subject = "x" }},
		{"a newer decision", KindDecisionRecorded, false, func(e *Event) { e.version = 2 }},
		{"a newer erasure", KindValuesErased, false, func(e *Event) { e.version = 7 }},
		{"an older run", KindRunRecorded, false, func(e *Event) { e.version = 0 }},
		{"another kind", KindDecisionRecorded, false, func(e *Event) { e.kind = "decision.thought" }},
		{"a body of no object", KindDecisionRecorded, true, func(e *Event) { e.body = "[]" }},
		{"half a body", KindRunRecorded, true, func(e *Event) { e.body = e.body[:len(e.body)/2] }},
		{"an actor that is no text", KindDecisionRecorded, false, func(e *Event) { e.actor = "ada\x00" }},
	} {
		if refused := f.try(x.name, f.place(x.kind), true, x.change); refused != x.refused {
			t.Errorf("%s: refused %v, want %v", x.name, refused, x.refused)
		}
	}

	// What was kept of them is told.
	f.write(f.changed(f.place(KindDecisionRecorded), func(e *Event) {
		e.subject, e.body = strings.Replace(e.subject, old, foreign, 1), strings.Replace(e.body, old, foreign, 1)
	}))
	if err := f.l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, err := f.l.Decision(t.Context(), foreign); err != nil || d.Value("decision_id") != foreign || d.Value("identity") != "match" {
		t.Errorf("a foreign name: %v %v", d, err)
	}
	if _, err := f.l.Decision(t.Context(), old); !fault.Is(err, fault.NotFound) {
		t.Errorf("the old name: %v", err)
	}
}

// TestForgedListsAreNamed: a run whose list of records is no list, or not the one
// that its address names, is refused by name.
func TestForgedListsAreNamed(t *testing.T) {
	f := newForge(t)
	n, blobs := f.place(KindRunRecorded), f.blobs
	for text, told := range map[string]string{`{"a":1}`: "is not a list", `[`: "is not a list", `x`: "is not a list", "": "its list of records is gone"} {
		list := ContentAddress("lst", []byte(text))
		o, err := f.events[n].Body()
		if err != nil {
			t.Fatal(err)
		}
		o.Set("b", list)
		if f.blobs = blobs; text != "" {
			f.blobs = append(f.blobs[:len(f.blobs):len(f.blobs)], []driver.Value{list, []byte(text), int64(n + 1)})
		}
		f.write(f.changed(n, func(e *Event) { e.body = string(must8785(t, o)) }))
		if _, err := f.l.Entities(t.Context(), ""); !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), told) {
			t.Errorf("%q: %v", text, err)
		}
		if text != "" {
			f.use(`UPDATE blobs SET bytes = 'y'::BLOB WHERE address = '` + list + `'`)
			f.forget()
			if _, err := f.l.Entities(t.Context(), ""); !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), "does not fit its address") {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

// TestErasedTwiceStaysErased: a content that lies where the record was stored the
// first time, erased, stored again and erased again, is found.
func TestErasedTwiceStaysErased(t *testing.T) {
	f := newForge(t)
	ctx, rec := t.Context(), oneNamed("y", "Harmuko Foods")[0]
	for range 2 {
		if err := errors.Join(f.compare(ctx, rec, oneNamed("x", "Zentari Mills Ltd")[0]), f.erase(ctx, rec)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.l.Verify(ctx, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := canon.Sorted(rec)
	if err != nil {
		t.Fatal(err)
	}
	places := 0
	for e, err := range f.l.Events(ctx, Filter{Kinds: []string{KindRecordStored}, Subject: idOf(t, rec)}) {
		if err != nil {
			t.Fatal(err)
		}
		places++
		f.use("BEGIN TRANSACTION", fmt.Sprintf(`INSERT INTO blobs VALUES ('%s', '%s'::BLOB, %d)`, idOf(t, rec), blob, e.seq))
		err := f.l.Verify(ctx, nil)
		f.use("ROLLBACK")
		if !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), "values were erased and are still there") {
			t.Errorf("event %d: %v", e.seq, err)
		}
	}
	if places != 2 {
		t.Errorf("it was stored %d times", places)
	}
}

// TestNewerEventsAreCounted: events of a newer form are kept and verified, the
// report says how many were not read; those of other kinds need no word.
func TestNewerEventsAreCounted(t *testing.T) {
	f := newForge(t)
	f.events = f.changed(f.place(KindDecisionRecorded), func(e *Event) { e.version = 2 })
	f.events = f.changed(f.place(KindOperatorDecided), func(e *Event) { e.version = 3 })
	f.events = f.changed(f.place(KindValuesErased), func(e *Event) { e.kind = "values.thought" })
	f.write(f.events)
	if err := f.l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	var report Report
	_ = f.l.Verify(t.Context(), &report) // the record that was erased counts as lost now
	want := []string{
		"1 events of kind decision.recorded v2 are newer than this program and were skipped",
		"1 events of kind operator.decided v3 are newer than this program and were skipped",
	}
	if diff := cmp.Diff(want, report.Notes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestVerificationNamesTheRow changes rows by hand and expects the finding that
// names them.
func TestVerificationNamesTheRow(t *testing.T) {
	f := newForge(t)
	ctx := t.Context()
	oneEdge(t, f.l, registered("r1", "Womuba Transport Ltd", "W-1"), oneNamed("r2", "Womuba Transport Limited")[0])
	erased := f.events[f.place(KindValuesErased)].subject
	var stored Event
	for _, e := range f.events {
		if e.subject == erased && e.kind == KindRecordStored {
			stored = e
		}
	}
	doc := ContentAddress("doc", []byte("hello"))
	if _, err := f.l.Append(ctx, []Draft{{
		Kind: "document.written", Subject: "doc:a.md", Body: map[string]string{"address": doc}, Blobs: []Blob{{doc, []byte("hello")}},
	}}); err != nil {
		t.Fatal(err)
	}
	head := lastEvent(t, f.l).seq
	for _, x := range []struct {
		name, sql          string
		table, field, what string
		seq                int64
	}{
		{"an event of no place", `INSERT INTO events SELECT * REPLACE (NULL AS seq) FROM events WHERE seq = 2`, "events", "seq", "1 rows have no place in the log", 0},
		{"events of no place", `INSERT INTO events SELECT * REPLACE (-seq AS seq) FROM events WHERE seq < 4`, "events", "seq", "3 rows have no place in the log", 0},
		{"a content of no event", `INSERT INTO blobs SELECT * REPLACE (999 AS seq) FROM blobs WHERE address = '` + doc + `'`, "blobs", "bytes", "it lies with no event", 999},
		{"a content of another place", `UPDATE blobs SET seq = seq + 1 WHERE address = '` + f.record + `'`, "blobs", "bytes", "it does not lie with its event", 2},
		{"a content of an unknown record", `UPDATE blobs SET address = 'rec:sha256:` + strings.Repeat("0", 64) + `' WHERE address = '` + f.record + `'`, "blobs", "bytes", "no event stored it", 1},
		{"a document's other bytes", `UPDATE blobs SET bytes = 'x'::BLOB WHERE address = '` + doc + `'`, "blobs", "bytes", "the content does not fit the address", head},
		{"a document's content gone", `DELETE FROM blobs WHERE address = '` + doc + `'`, "blobs", "bytes", contentGone, head},
		{"a document's content twice", `INSERT INTO blobs SELECT * FROM blobs WHERE address = '` + doc + `'`, "blobs", "bytes", "it is there twice", head},
		{"a record's content twice", `INSERT INTO blobs SELECT * FROM blobs WHERE address = '` + f.record + `'`, "blobs", "bytes", "it is there twice", 1},
		{"an erased content", fmt.Sprintf(`INSERT INTO blobs VALUES ('%s', 'x'::BLOB, %d)`, erased, stored.seq), "blobs", "bytes", "values were erased and are still there", stored.seq},
		{"a record's row of no place", `INSERT INTO records SELECT * REPLACE (NULL AS seq) FROM records WHERE seq = 1`, "records", "rows", "1 rows belong to no event", 0},
		{"a decision's row of no place", `INSERT INTO decisions SELECT * REPLACE (0 AS seq) FROM decisions LIMIT 1`, "decisions", "rows", "1 rows belong to no event", 0},
		{"a member's row of no place", `INSERT INTO members SELECT * REPLACE (12345 AS seq) FROM members LIMIT 1`, "members", "rows", "1 rows belong to no event", 0},
		{"a record's row gone", `DELETE FROM records WHERE seq = 1`, "records", "rows", "a row is missing", 1},
		{"a record's last row gone", `DELETE FROM records WHERE seq = (SELECT max(seq) FROM records)`, "records", "rows", "a row is missing", head - 3},
		{"a record's row twice", `INSERT INTO records SELECT * FROM records WHERE seq = 1`, "records", "rows", "a row too many, the fold gives none", 1},
		{"a record's row of a run's place", `INSERT INTO records SELECT * REPLACE (3 AS seq) FROM records WHERE seq = 1`, "records", "rows", "a row too many, the fold gives none", 3},
		{"a record of another type", `UPDATE records SET entity_type = 'person' WHERE seq = 1`, "records", "row", "column 3 differs from the fold", 1},
		{"the log by another name", `UPDATE events SET log = 'other' WHERE seq = 2`, "events", "log", "the log's name is not the file's", 2},
	} {
		f.use("BEGIN TRANSACTION", x.sql)
		var report Report
		err := f.l.Verify(ctx, &report)
		f.use("ROLLBACK")
		if !fault.Is(err, fault.Damaged) {
			t.Errorf("%s: %v", x.name, err)
		}
		named := false
		for _, g := range report.Findings {
			named = named || g.Table == x.table && g.Field == x.field && strings.Contains(g.What, x.what) && (g.Seq == x.seq || x.seq < 0)
		}
		if !named {
			t.Errorf("%s: %+v", x.name, report.Findings)
		}
	}
	if err := f.l.Verify(ctx, nil); err != nil {
		t.Errorf("everything is as it was: %v", err)
	}
}

// TestUnknownIndexIsLeftAlone: stretches of an index that this program cannot
// make are noted, whatever their name is; where contents are damaged nothing can
// be compared, which is noted too and does not hide the damage.
func TestUnknownIndexIsLeftAlone(t *testing.T) {
	f := newForge(t)
	ctx := t.Context()
	f.l.index.least, f.l.index.most = 2, 4
	if _, err := f.l.Resolve(ctx, oneNamed("a", "Womuba Transport")[0], "organisation"); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"", "x", "a:b:c:d", "a:organisation@0.9:crosswalk.v1", "index.v0:organisation@0.9:crosswalk.v1:0", "a:organisation@7:crosswalk.v9:b"} {
		if key, ok := keyOfForm(form); ok {
			t.Errorf("%q is taken for %+v", form, key)
		}
		f.use("BEGIN TRANSACTION", `INSERT INTO index_parts SELECT * REPLACE ('`+form+`' AS form) FROM index_parts LIMIT 1`)
		var report Report
		err := f.l.Verify(ctx, &report)
		f.use("ROLLBACK")
		if diff := cmp.Diff([]string{"1 stretches of the index of resolve are another version's and were not compared"}, report.Notes); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", form, err, diff)
		}
	}
	f.use("BEGIN TRANSACTION", `UPDATE blobs SET bytes = 'x'::BLOB WHERE address = '`+f.record+`'`)
	var report Report
	err := f.l.Verify(ctx, &report)
	f.use("ROLLBACK")
	if diff := cmp.Diff([]string{"the index of resolve was not compared: stored records are damaged"}, report.Notes); !fault.Is(err, fault.Damaged) || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	f.use("BEGIN TRANSACTION", `UPDATE index_parts SET n = n + 1000`)
	err = f.l.Verify(ctx, &report)
	f.use("ROLLBACK")
	if !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), "there are not so many") {
		t.Errorf("%v", err)
	}
	if err := f.l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestErasingInALongUnit: a unit that writes as it goes erases at its end.
func TestErasingInALongUnit(t *testing.T) {
	f := newForge(t)
	f.l.index.least, f.l.index.most = 2, 4
	if _, err := f.l.Resolve(t.Context(), oneNamed("a", "Womuba Transport")[0], "organisation"); err != nil {
		t.Fatal(err)
	}
	f.l.long = 0
	if _, err := f.l.Forget(t.Context(), ForgetRequest{Addresses: []string{f.record}, Reason: "asked to"}); err != nil {
		t.Fatal(err)
	}
	f.l.long = longUnit
	if _, err := f.l.Blob(t.Context(), f.record); !fault.Is(err, fault.NotFound) {
		t.Errorf("the content is there: %v", err)
	}
	if err := f.l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
