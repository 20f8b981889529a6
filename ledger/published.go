package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

// Published are the rows of the tables that the published arche keeps.
type Published struct {
	Records   []PublishedRecord
	Runs      []PublishedRun
	Decisions []PublishedDecision
	Members   map[string]string   // record id -> entity id
	Withheld  map[string]string   // record id -> verdict (ambiguous, conflict) of a link_withheld event
	Observed  map[string][]string // record id -> field names of its observation_recorded events
}

// PublishedRecord is a row of arche_records.
type PublishedRecord struct {
	ID, EntityType, Source string
	Attributes             *canon.Object // nil for a record made of text
	At                     time.Time
}

// PublishedRun is a row of arche_runs.
type PublishedRun struct {
	ID, Verb   string
	Call, Pins *canon.Object
	A, B       []string
	At         time.Time
}

// PublishedDecision is a row of arche_decisions.
type PublishedDecision struct {
	ID, Verb, A, B, Identity, Action, Explanation string
	Score                                         float64
	Factors, Evidence, Pins, Call                 *canon.Object
	Run                                           string // "" for a pair
	Supersedes, SupersededBy                      string
	At                                            time.Time
}

// ImportPublished takes a ledger of the published arche into this one, which
// must be empty: ids, decisions, supersessions, observations and times are kept,
// entities follow from them. The answer lists what differs, because of faults of
// that program or because there is no place for it here. All of it comes in, or
// nothing.
func (l *Ledger) ImportPublished(ctx context.Context, p *Published) (*canon.Object, error) {
	var out *canon.Object
	err := l.write(ctx, func(u *unit) error {
		if u.s.seq > 0 {
			return fault.New(fault.Refused, "the ledger is not empty").WithHint("import into a new file")
		}
		im := &importing{u: u, r: l.reader(ctx, u.db, u.s), p: p, runs: map[string]*PublishedRun{}, made: map[string]string{}}
		if err := im.all(); err != nil {
			return err
		}
		out = im.answer()
		return nil
	})
	return out, err
}

type importing struct {
	u           *unit
	r           *reader
	p           *Published
	runs        map[string]*PublishedRun
	made        map[string]string // published run id -> ours
	origin      map[string]string // observed record -> the record it was made from
	counts      struct{ records, runs, decisions, observations int }
	differences []string
}

func (im *importing) differs(format string, args ...any) {
	im.differences = append(im.differences, fmt.Sprintf(format, args...))
}

// item is one thing to bring in, at its time.
type item struct {
	at   time.Time
	rank int // records before runs before decisions of one moment
	do   func() error
}

func (im *importing) all() error {
	im.origin = map[string]string{}
	var items []item
	for i := range im.p.Records {
		rec := &im.p.Records[i]
		if old, ok := strings.CutPrefix(rec.Source, "observe:"); ok {
			im.origin[rec.ID] = old
		}
		items = append(items, item{rec.At, 0, func() error { return im.record(rec) }})
	}
	for i := range im.p.Runs {
		run := &im.p.Runs[i]
		im.runs[run.ID] = run
		items = append(items, item{run.At, 1, func() error { return im.run(run) }})
	}
	for i := range im.p.Decisions {
		d := &im.p.Decisions[i]
		items = append(items, item{d.At, 2, func() error { return im.decision(d) }})
	}
	slices.SortStableFunc(items, func(a, b item) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.rank - b.rank
	})
	last := im.u.at
	for n, it := range items {
		if n%1024 == 1023 && im.r.ctx.Err() != nil {
			return im.r.ctx.Err()
		}
		if it.at.IsZero() || it.at.After(last) {
			it.at = last // a time that lies ahead is not believed
		}
		if n == 0 || it.at.After(im.u.at) {
			im.u.at = it.at.UTC().Truncate(time.Microsecond)
		}
		if err := it.do(); err != nil {
			return err
		}
	}
	return nil
}

func (im *importing) record(rec *PublishedRecord) error {
	if rec.Attributes == nil {
		im.differs("record %s was made of text and has no place here", rec.ID)
		return nil
	}
	row, err := newRow(rec.Attributes, rec.EntityType)
	if err != nil {
		return err
	}
	if row.id != rec.ID {
		im.differs("record %s does not have the id of its content and was left out", clip(rec.ID))
		return nil
	}
	if _, err := im.u.store(&row, rec.EntityType); err != nil {
		return err
	}
	im.counts.records++
	if old := im.origin[rec.ID]; old != "" {
		return im.observation(rec, old)
	}
	return nil
}

// observation is the version edge from the record that evidence was added to.
func (im *importing) observation(rec *PublishedRecord, old string) error {
	from := im.u.s.lookupRecord(old)
	if from < 0 {
		im.differs("record %s was observed of %s, which is not there", rec.ID, clip(old))
		return nil
	}
	fields := im.p.Observed[old]
	if fields == nil {
		before, err := im.r.contentOf(from)
		if err != nil {
			return err
		}
		for key := range rec.Attributes.All() {
			if !before.Has(key) {
				fields = append(fields, key)
			}
		}
	}
	fields = slices.Clone(fields)
	slices.Sort(fields)
	body, err := appendJCS(nil, canon.Obj("given", old, "fields", slices.Compact(fields), "new_record", rec.ID, "run", nil))
	if err != nil {
		return err
	}
	supersedes := ""
	if o, ok := im.u.s.others["obs:"+old]; ok {
		supersedes = o.event
	}
	im.counts.observations++
	_, err = im.u.add(KindEvidenceObserved, "obs:"+old, supersedes, body, observedBody{newRecord: rec.ID})
	return err
}

// packVersion is the version of the packs that pins tell of.
func packVersion(pins *canon.Object) string {
	if engine, _ := pins.Value("engine").(string); pins.Has("data_assets") || engine == "arche-core@0.10.0" {
		return resolve.PackVersion010
	}
	return ""
}

func (im *importing) run(run *PublishedRun) error {
	for _, id := range slices.Concat(run.A, run.B) {
		if im.u.s.lookupRecord(id) < 0 {
			im.differs("run %s names record %s, which is not here; its decisions were left out", run.ID, clip(id))
			return nil
		}
	}
	call := canon.Obj("id_field", textOr(run.Call, "id_field", resolve.DefaultIDField))
	threshold := resolve.DefaultThreshold
	if f, ok := number(run.Call.Value("threshold")); ok {
		threshold = f
	}
	if n, ok := run.Call.Value("threshold").(canon.Number); ok && n.IsInt() {
		call.Set("threshold", string(n))
	} else {
		call.Set("threshold", canon.FloatText(threshold))
	}
	if c, ok := run.Call.Value("comparators").([]any); ok {
		text, err := canon.Compact(c)
		if err != nil {
			return err
		}
		call.Set("comparators", string(text))
	} else {
		call.Set("entity", textOr(run.Call, "entity", ""))
	}
	if v := packVersion(run.Pins); v != "" {
		call.Set("pack_version", v)
	}
	pins, err := appendJCS(nil, run.Pins)
	if err != nil {
		return err
	}
	im.made[run.ID], err = im.u.recordRun(run.Verb, call, rawJSON(pins), runList{ids: run.A}, runList{ids: run.B})
	im.counts.runs++
	return err
}

func textOr(o *canon.Object, key, otherwise string) string {
	if s, ok := o.Value(key).(string); ok {
		return s
	}
	return otherwise
}

func (im *importing) decision(d *PublishedDecision) error {
	a, b := im.u.s.lookupRecord(d.A), im.u.s.lookupRecord(d.B)
	switch {
	case a < 0 || b < 0:
		im.differs("decision %s is about a record that is not here and was left out", clip(d.ID))
		return nil
	case d.Verb == "deidentify" || d.Verb == "place":
		im.differs("decision %s is a %s, which is no decision about records here", clip(d.ID), d.Verb)
		return nil
	}
	pins, err := appendJCS(nil, d.Pins)
	if err != nil {
		return err
	}
	v := verdict{
		id: d.ID, verb: d.Verb, identity: d.Identity, action: d.Action, explanation: d.Explanation, score: d.Score,
		factors: d.Factors, evidence: d.Evidence.Clone(), pins: pins, a: a, b: b, replaces: -1,
	}
	v.evidence.Delete("a_id")
	v.evidence.Delete("b_id")
	run, err := im.runOf(d, &v)
	if err != nil || run == "" {
		return err
	}
	v.replaces = im.replaced(d)
	withheld := ""
	if linkingIdentity(d.Identity) && d.Verb == "resolve" && im.p.Withheld[d.A] != "" {
		withheld = im.p.Withheld[d.A]
	}
	if d.SupersededBy == d.ID {
		im.differs("decision %s was marked as superseded by itself; here it stands", d.ID)
	}
	im.counts.decisions++
	_, err = im.u.recordVerdict(&v, run, withheld)
	return err
}

// runOf is the run that the decision was made in: the batch, or for a pair one
// of its own.
func (im *importing) runOf(d *PublishedDecision, v *verdict) (string, error) {
	if d.Run == "" {
		call := canon.Obj("entity", textOr(d.Call, "entity", im.u.s.words.get(im.u.s.recs[v.a].typ)))
		if j := textOr(d.Call, "jurisdiction", ""); j != "" {
			call.Set("jurisdiction", j)
		}
		if p := packVersion(d.Pins); p != "" {
			call.Set("pack_version", p)
		}
		return im.u.recordRun("observe", call, v.pins, runList{ids: []string{d.A}}, runList{ids: []string{d.B}})
	}
	run, ok := im.runs[d.Run]
	ours := im.made[d.Run]
	if !ok || ours == "" {
		im.differs("decision %s has no run here and was left out", clip(d.ID))
		return "", nil
	}
	i, j := slices.Index(run.A, d.A), slices.Index(run.B, d.B)
	if i < 0 || j < 0 {
		im.differs("decision %s is not about rows of its run and was left out", clip(d.ID))
		return "", nil
	}
	v.pos = []any{i, j}
	return ours, nil
}

// replaced is the decision that an observation replaced: of the same pair, with
// the record that was observed in the new one's place.
func (im *importing) replaced(d *PublishedDecision) int32 {
	if d.Supersedes == "" || d.Supersedes == d.ID {
		return -1
	}
	s := im.u.s
	before := func(id string) []string { return []string{id, im.origin[id]} }
	best := int32(-1)
	for _, i := range s.rowsOf(d.Supersedes) {
		x := &s.decs[i]
		if slices.Contains(before(d.A), s.recordID(x.a)) && slices.Contains(before(d.B), s.recordID(x.b)) {
			best = i
		}
	}
	if best < 0 {
		im.differs("decision %s supersedes %s, which is not here", clip(d.ID), clip(d.Supersedes))
	}
	return best
}

// answer compares the entities that follow with those of the published tables.
func (im *importing) answer() *canon.Object {
	s := im.u.s
	theirs := map[string][]string{}
	for record, e := range im.p.Members {
		theirs[e] = append(theirs[e], record)
	}
	ids := make([]string, 0, len(theirs))
	for e := range theirs {
		ids = append(ids, e)
	}
	slices.Sort(ids)
	names := []any{}
	for _, e := range ids {
		members := theirs[e]
		slices.Sort(members)
		now := map[string]bool{}
		count := 0
		for _, id := range members {
			name := "none"
			if r := s.lookupRecord(id); r >= 0 && s.recs[r].ent >= 0 {
				ent := &s.ents[s.recs[r].ent]
				name, count = ent.id, len(ent.members)
			}
			now[name] = true
		}
		ours := make([]string, 0, len(now))
		for n := range now {
			ours = append(ours, n)
		}
		slices.Sort(ours)
		names = append(names, canon.Obj("was", e, "now", ours))
		if len(ours) != 1 || ours[0] == "none" || count != len(members) {
			im.differs("entity %s had %d records; here they are in %s", e, len(members), strings.Join(ours, ", "))
		}
	}
	differences := im.differences
	if differences == nil {
		differences = []string{}
	}
	return canon.Obj("records", im.counts.records, "runs", im.counts.runs, "decisions", im.counts.decisions,
		"observations", im.counts.observations, "entities", names, "differences", differences)
}
