package ledger

import (
	"bytes"
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// ForgetRequest says whose values to erase. What the parts name is taken
// together.
type ForgetRequest struct {
	Addresses []string  // records (rec:...) and other stored contents (doc:...)
	Entity    string    // every record of an entity
	Field     string    // every record whose field, under its own or its pack name,
	Value     string    // has this value, whatever its case and spacing
	OlderThan time.Time // every record that was stored, with all its versions, before
	Type      string    // with OlderThan or Field: only records of this type
	Reason    string    // stays in the log for ever
	DryRun    bool      // only say what would go
}

// Forget erases the values of records: their contents, those of all their
// versions, the rows they were handed in as, the pieces of them that evidence
// quotes, and old stored texts of documents that hold the value. Ids, verdicts
// and the chain stay. Then the file is written anew, so that the bytes are gone
// from it. The answer says what went, and how many decisions can no longer be
// made again.
func (l *Ledger) Forget(ctx context.Context, req ForgetRequest) (*canon.Object, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	var out *canon.Object
	gone := false
	err := l.write(ctx, func(u *unit) error {
		f := &forgetting{u: u, r: l.reader(ctx, u.db, u.s), req: req, records: map[int32]bool{}, others: map[string]bool{}}
		if err := f.gather(); err != nil {
			return err
		}
		var err error
		if out, err = f.answer(); err != nil || req.DryRun {
			return err
		}
		gone = len(f.records)+len(f.others) > 0
		return f.erase()
	})
	if err != nil || !gone {
		return out, err
	}
	l.mu.Lock()
	l.cache.reset()
	l.mu.Unlock()
	if err := l.Compact(ctx); err != nil {
		return nil, fault.Wrap(err, fault.Refused, "the values are erased, and the file could not be written anew: their bytes may still lie in it").
			WithHint("free some disk space and run: arche forget --compact")
	}
	return out, nil
}

func (req *ForgetRequest) check() error {
	if len(req.Addresses) == 0 && req.Entity == "" && req.Field == "" && req.OlderThan.IsZero() {
		return fault.New(fault.Invalid, "nothing is named to forget")
	}
	if req.DryRun {
		return nil
	}
	return checkReason(req.Reason)
}

type forgetting struct {
	u       *unit
	r       *reader
	req     ForgetRequest
	records map[int32]bool
	others  map[string]bool // rows, pieces and documents, by address
	left    []string        // documents that hold the value and are current
}

func (f *forgetting) gather() error {
	for _, step := range []func() error{f.named, f.entity, f.valued, f.aged} {
		if err := step(); err != nil {
			return err
		}
	}
	f.versions()
	if err := f.rows(); err != nil {
		return err
	}
	if err := f.pieces(); err != nil {
		return err
	}
	return f.documents()
}

func (f *forgetting) named() error {
	for _, a := range f.req.Addresses {
		if i := f.r.s.lookupRecord(a); i >= 0 {
			f.add(i)
			continue
		}
		if strings.HasPrefix(a, recordPrefix) || !strings.HasPrefix(a, "doc:") {
			return noRecord(a)
		}
		n := 0
		err := f.r.db.Query(f.r.ctx, `SELECT address FROM blobs WHERE address = ?`, []any{a}, func([]driver.Value) error { n++; return nil })
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.NotFound, "no content %s in this ledger", canon.Repr(clip(a)))
		}
		f.others[a] = true
	}
	return nil
}

// add takes a record whose values are still there.
func (f *forgetting) add(i int32) {
	if !f.r.s.recs[i].erased {
		f.records[i] = true
	}
}

func (f *forgetting) entity() error {
	if f.req.Entity == "" {
		return nil
	}
	e, ok := f.r.s.entIdx[f.req.Entity]
	if !ok {
		return fault.New(fault.NotFound, "no entity %s in this ledger now", canon.Repr(clip(f.req.Entity))).
			WithHint("arche entities --id says where an old id's records are")
	}
	for _, i := range f.r.s.ents[e].members {
		f.add(i)
	}
	return nil
}

// each visits the records of the wanted type that have their values.
func (f *forgetting) each(visit func(i int32, o *canon.Object)) error {
	s := f.r.s
	const step = contentCacheMost / 4
	for from := 0; from < len(s.recs); from += step {
		var part []int32
		for n := from; n < min(from+step, len(s.recs)); n++ {
			i := int32(n) //nolint:gosec // bounded by the number of events
			if !s.recs[i].erased && (f.req.Type == "" || s.words.get(s.recs[i].typ) == f.req.Type) {
				part = append(part, i)
			}
		}
		err := f.r.contents(part, func(i int32, data []byte) error {
			o, err := s.parseContent(i, data)
			visit(i, o)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *forgetting) valued() error {
	if f.req.Field == "" {
		return nil
	}
	want := foldText(f.req.Value)
	return f.each(func(i int32, o *canon.Object) {
		for key, v := range o.All() {
			if (key == f.req.Field || packNames[key] == f.req.Field) && foldText(v) == want {
				f.add(i)
			}
		}
	})
}

// aged takes the records that are older than the limit with all their versions.
func (f *forgetting) aged() error {
	if f.req.OlderThan.IsZero() {
		return nil
	}
	var last int64
	err := f.r.db.Query(f.r.ctx, `SELECT coalesce(max(seq), 0) FROM events WHERE recorded_at < ?`, []any{f.req.OlderThan.UTC()}, func(v []driver.Value) error {
		last, _ = v[0].(int64)
		return nil
	})
	if err != nil {
		return err
	}
	s := f.r.s
	for n := range s.recs {
		i := int32(n) //nolint:gosec // bounded by the number of events
		if s.recs[s.newest(i)].seq <= last && s.recs[i].seq <= last && (f.req.Type == "" || s.words.get(s.recs[i].typ) == f.req.Type) {
			f.add(i)
		}
	}
	return nil
}

// versions adds what observations made of a record, and what it was made of:
// they hold the same values.
func (f *forgetting) versions() {
	s := f.r.s
	for i := range f.records {
		if c, ok := s.chainOf[i]; ok {
			for _, m := range s.chains[c].members {
				f.add(m)
			}
		}
	}
}

// rows finds the rows that stored records were handed in again as.
func (f *forgetting) rows() error {
	any := false
	err := f.r.db.Query(f.r.ctx, `SELECT address FROM blobs WHERE starts_with(address, 'row:') LIMIT 1`, nil, func([]driver.Value) error { any = true; return nil })
	if err != nil || !any {
		return err
	}
	for n := range f.r.s.runs {
		rr, err := f.r.run(int32(n)) //nolint:gosec // bounded by the number of events
		if err != nil {
			return err
		}
		for _, side := range []string{"a", "b"} {
			if _, every := rr.body.Value(side).(*canon.Object); every {
				continue
			}
			entries, err := f.r.entries(rr, side)
			if err != nil {
				return err
			}
			for _, e := range entries {
				o, ok := e.(*canon.Object)
				if !ok {
					continue
				}
				record, _ := o.Value("record").(string)
				if row, _ := o.Value("row").(string); f.records[f.r.s.lookupRecord(record)] && row != "" {
					f.others[row] = true
				}
			}
		}
	}
	return nil
}

// pieces finds the texts that evidence quotes out of the records, but for those
// that other records are quoted with too. A decision that is not what was
// recorded, or is gone, could hide one: it is named.
func (f *forgetting) pieces() error {
	ours, theirs := map[string]bool{}, map[string]bool{}
	err := f.r.db.Query(f.r.ctx, `SELECT `+eventPieces+` FROM events WHERE kind = 'decision.recorded' AND contains(body, '"txt:blake3:')`, nil,
		func(v []driver.Value) error {
			var e Event
			if err := scanPieces(v, &e); err != nil {
				return err
			}
			body, err := e.Body()
			if err != nil || eventID(e.version, e.kind, e.subject, e.supersedes, e.body) != e.id {
				return alteredEvent(&e, "its content does not fit its address")
			}
			into := theirs
			if _, a, b, _ := splitSubject(e.subject); f.records[f.r.s.lookupRecord(a)] || f.records[f.r.s.lookupRecord(b)] {
				into = ours
			}
			evidence, _ := body.Value("evidence").(*canon.Object)
			for _, x := range evidence.All() {
				if address, ok := x.(string); ok && strings.HasPrefix(address, "txt:blake3:") {
					into[strings.Clone(address)] = true
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	for address := range ours {
		if !theirs[address] {
			f.others[address] = true
		}
	}
	return f.allDecisions()
}

// allDecisions compares the number of decisions in the log with those folded.
func (f *forgetting) allDecisions() error {
	return f.r.db.Query(f.r.ctx, `SELECT count(*) FROM events WHERE kind = 'decision.recorded' AND v = ?`, []any{eventVersion}, func(v []driver.Value) error {
		if n, _ := v[0].(int64); n != int64(len(f.r.s.decs)) {
			return altered("the log has %d decisions and %d were recorded", n, len(f.r.s.decs))
		}
		return nil
	})
}

// documents finds stored texts that hold the value. A text that is a document's
// current one stays, because the file still says it; it is named in the answer.
func (f *forgetting) documents() error {
	if f.req.Value == "" {
		return nil
	}
	current := map[string]string{}
	err := f.r.db.Query(f.r.ctx, `SELECT address, path FROM v_document`, nil, func(v []driver.Value) error {
		address, _ := v[0].(string)
		current[address], _ = v[1].(string)
		return nil
	})
	if err != nil {
		return err
	}
	return f.r.db.Query(f.r.ctx, `SELECT address, bytes FROM blobs WHERE starts_with(address, 'doc:') ORDER BY seq`, nil, func(v []driver.Value) error {
		address, _ := v[0].(string)
		data, _ := v[1].([]byte)
		if !bytes.Contains(data, []byte(f.req.Value)) {
			return nil
		}
		if path, ok := current[address]; ok {
			f.left = append(f.left, path)
		} else {
			f.others[address] = true
		}
		return nil
	})
}

// answer says what goes.
func (f *forgetting) answer() (*canon.Object, error) {
	s := f.r.s
	ids := f.sorted()
	records := make([]any, 0, len(ids))
	for _, i := range ids {
		v, err := f.r.recordView(i)
		if err != nil {
			return nil, err
		}
		records = append(records, canon.Obj("record_id", v.Value("record_id"), "label", v.Value("label"),
			"entity_type", v.Value("entity_type"), "fields", v.Value("fields"), "entity_id", s.entityOf(i)))
	}
	byKind := map[string][]any{"row": {}, "txt": {}, "doc": {}}
	for _, a := range f.addresses() {
		kind, _, _ := strings.Cut(a, ":")
		byKind[kind] = append(byKind[kind], a)
	}
	slices.Sort(f.left)
	return canon.Obj("dry_run", f.req.DryRun, "records", records, "rows", byKind["row"], "pieces", byKind["txt"], "documents", byKind["doc"],
		"documents_left", slices.Compact(f.left), "decisions_not_replayable", f.decisions()), nil
}

func (f *forgetting) sorted() []int32 {
	ids := make([]int32, 0, len(f.records))
	for i := range f.records {
		ids = append(ids, i)
	}
	slices.Sort(ids)
	return ids
}

func (f *forgetting) addresses() []string {
	out := make([]string, 0, len(f.others))
	for a := range f.others {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// decisions are the public ids of those decisions that are about a record whose
// values go.
func (f *forgetting) decisions() []any {
	out := []any{}
	seen := map[int32]bool{}
	for _, r := range f.sorted() {
		for _, i := range f.r.s.recs[r].decs {
			if !seen[i] {
				seen[i] = true
				out = append(out, f.r.s.publicID(i))
			}
		}
	}
	return out
}

// erase appends the events and takes the contents away in the same transaction.
func (f *forgetting) erase() error {
	body, err := appendJCS(nil, canon.Obj("reason", strings.ToValidUTF8(f.req.Reason, "\uFFFD")))
	if err != nil {
		return err
	}
	addresses := f.addresses()
	for _, i := range f.sorted() {
		addresses = append(addresses, f.r.s.recordID(i))
	}
	for _, a := range addresses {
		supersedes := ""
		if o, ok := f.u.s.others[a]; ok {
			supersedes = o.event
		}
		if _, err := f.u.add(KindValuesErased, a, supersedes, body, erasedBody{}); err != nil {
			return err
		}
	}
	f.u.erased = addresses
	return nil
}

// Compact writes the file anew, so that nothing that was taken away is left in
// it or in its log. A ledger in memory has nothing to write.
func (l *Ledger) Compact(ctx context.Context) error {
	if l.store.Path() == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := &Ledger{opts: l.opts}
	return l.store.Replace(ctx, func(path string) error {
		fresh.cache.reset()
		var err error
		if fresh.store, err = duck.OpenStore(path, duck.Options{Wait: l.opts.Wait, Fault: l.opts.Fault, OnOpen: fresh.opened}); err != nil {
			return err
		}
		err = fresh.store.Use(ctx, func(*duck.DB) error { return nil }) // makes the tables
		if cerr := fresh.store.Close(); err == nil {
			err = cerr
		}
		return err
	})
}
