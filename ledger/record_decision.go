package ledger

import (
	"context"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// verdict is one decision to be recorded.
type verdict struct {
	id, verb, identity, action, explanation string
	score                                   float64
	factors, evidence                       *canon.Object
	pins                                    rawJSON
	pos                                     any // [i, j] in a batch, nil for a pair
	a, b                                    int32
	texts                                   []Blob              // pieces of records that the evidence names by address
	replaces                                int32               // decision that an observation replaces; -1 none
	req                                     resolve.PairRequest // the call of a pair verdict
}

// body is the canonical body of the decision's event, and what two bodies of one
// decision are compared by: see sameness.
func (v *verdict) body(run string, link bool, withheld string) (body []byte, same uint64, err error) {
	buf := make([]byte, 0, 768+len(v.pins))
	put := func(key string, val any) {
		if err != nil {
			return
		}
		sep := byte(',')
		if len(buf) == 0 {
			sep = '{'
		}
		buf = append(append(append(buf, sep, '"'), key...), '"', ':')
		buf, err = appendJCS(buf, val)
	}
	put("action", v.action)
	put("decision_id", v.id)
	put("evidence", v.evidence)
	put("explanation", v.explanation)
	put("factors", v.factors)
	put("identity", v.identity)
	put("link", link)
	put("pins", v.pins)
	from := len(buf)
	put("pos", v.pos)
	put("run", run)
	to := len(buf)
	put("score", canon.Float(v.score))
	put("verb", v.verb)
	put("withheld", textOrNil(withheld))
	if err != nil {
		return nil, 0, err
	}
	buf = append(buf, '}')
	return buf, samenessOf(buf[:from], buf[to:]), nil
}

// linkingIdentity reports whether an identity joins records.
func linkingIdentity(identity string) bool { return identity == "match" || identity == "same_entity" }

// edgeVerdict is an edge of a batch as it is recorded.
func edgeVerdict(e *resolve.Edge, verb string, pins rawJSON, a, b int32) verdict {
	v := verdict{
		id: e.DecisionID, verb: verb, identity: e.Decision, action: "hold", score: e.Score,
		factors: canon.NewObject(), evidence: canon.NewObject(), pins: pins,
		pos: []any{e.I, e.J}, a: a, b: b, replaces: -1,
	}
	if e.Decision == "match" {
		v.action = "merge"
	}
	v.evidence.Set("distinctive_max", canon.Float(e.DistinctiveMax))
	for k, val := range e.Evidence.All() {
		if text, ok := val.(string); ok {
			address := ContentAddress("txt", []byte(text))
			v.texts = append(v.texts, Blob{address, []byte(text)})
			v.evidence.Set(k, address)
		} else {
			v.factors.Set(k, val)
		}
	}
	v.explanation = explainEdge(e.Decision, v.factors)
	return v
}

func explainEdge(decision string, factors *canon.Object) string {
	var agree []string
	for k, val := range factors.All() {
		if f, ok := number(val); ok && f >= 0.85 {
			agree = append(agree, k)
		}
	}
	slices.Sort(agree)
	switch {
	case decision == "match" && len(agree) == 0:
		return "matched"
	case decision == "match":
		return "agrees on " + strings.Join(agree, ", ")
	case len(agree) == 0:
		return "review: no field agreed strongly"
	}
	return "review: agrees on " + strings.Join(agree, ", ")
}

// number is the value of anything that JSON calls a number.
func number(v any) (float64, bool) {
	switch x := v.(type) {
	case canon.Float:
		return float64(x), true
	case canon.Number:
		return x.Float(), true
	case int: // a level of the statistical backend
		return float64(x), true
	}
	return 0, false
}

// recordVerdict appends a decision under the append rule. The result is the
// decision that now stands for the verdict: the new one, or the one that was
// there already.
func (u *unit) recordVerdict(v *verdict, run string, withheld string) (int32, error) {
	p, err := v.prepare(u.s, run, withheld)
	if err != nil {
		return -1, err
	}
	return u.recordPrepared(v, &p, run, withheld)
}

// prepared is what a verdict's event is made of.
type prepared struct {
	link          bool
	same          uint64
	subject, body string
	id            string // of the event when it supersedes nothing
}

// prepare makes what the event of a verdict needs. It only reads the ids of
// records, which never change.
func (v *verdict) prepare(s *state, run, withheld string) (p prepared, err error) {
	p.link = linkingIdentity(v.identity) && withheld == ""
	body, same, err := v.body(run, p.link, withheld)
	if err != nil {
		return p, err
	}
	p.body, p.same = string(body), same
	p.subject = v.id + "@" + s.recordID(v.a) + "|" + s.recordID(v.b)
	p.id = eventID(eventVersion, KindDecisionRecorded, p.subject, "", p.body)
	return p, nil
}

// recordPrepared is recordVerdict for a verdict that is prepared.
func (u *unit) recordPrepared(v *verdict, p *prepared, run, withheld string) (int32, error) {
	s, same := u.s, p.same
	_, public := s.publicAddress(v.id, true)
	current := s.lastOf(&public, v.a, v.b)
	known := current >= 0
	replaces := v.replaces
	if replaces >= 0 && known && replaces == current && s.decs[current].same == same {
		return current, nil // the observation changed nothing
	}
	if replaces < 0 && known {
		c := &s.decs[current]
		switch {
		case c.same == same, s.live(current) && c.link:
			return current, nil
		case c.replaced >= 0 && !s.sameSubject(current, c.replaced):
			return current, nil // settled by another decision meanwhile
		}
		replaces = current
	}
	supersedes, id := "", p.id
	if replaces >= 0 {
		supersedes, id = eventPrefix+s.decs[replaces].event.hex(), ""
	}
	_, err := u.addText(KindDecisionRecorded, p.subject, supersedes, p.body, id, decisionBody{
		decisionID: v.id, run: run, verb: v.verb, identity: v.identity, action: v.action, withheld: withheld,
		score: v.score, link: p.link, same: same,
	})
	if err != nil {
		return -1, err
	}
	for _, t := range v.texts {
		u.blob(t.Address, t.Bytes)
	}
	n := int32(len(s.decs) - 1) //nolint:gosec // bounded by the number of events
	u.l.cache.checked.set(n)
	return n, nil
}

func (s *state) sameSubject(i, j int32) bool {
	x, y := &s.decs[i], &s.decs[j]
	return x.public == y.public && x.a == y.a && x.b == y.b
}

// store appends a record when it is not there, or when its values were erased.
func (u *unit) store(r *row, entityType string) (int32, error) {
	s := u.s
	i := s.lookupRecord(r.id)
	supersedes := ""
	if i >= 0 {
		if !s.recs[i].erased {
			return i, nil
		}
		if err := u.settle(); err != nil {
			return -1, err
		}
		old, err := readEvent(context.Background(), u.db, s.recs[i].seq)
		if err != nil {
			return -1, err
		}
		supersedes = old.id
	}
	body := make([]byte, 0, 128+len(entityType))
	body = append(append(body, `{"content":"`...), r.content.hex()...)
	body = appendPlain(append(body, `","entity_type":`...), entityType)
	if _, err := u.add(KindRecordStored, r.id, supersedes, append(body, '}'), storedBody{r.content, entityType}); err != nil {
		return -1, err
	}
	u.blob(r.id, r.blob)
	i = s.lookupRecord(r.id)
	c := &u.l.cache
	delete(c.labels, i)
	u.l.index.note(c, i, entityType, r.blob)
	if len(c.content) < c.most {
		if kept, err := asStored(r.rec, r.blob); err == nil {
			c.content[i] = kept
		}
	}
	c.exact[i] = exactValues(r.rec)
	return i, nil
}

// listMost is the number of ids that a run holds itself; longer lists are blobs.
const listMost = 100

// recordRun appends a run unless the same one is there. lists are what stands
// under a and b.
func (u *unit) recordRun(verb string, call, pins any, a, b runList) (string, error) {
	var blobs []Blob
	entries := [2]any{}
	ids := [2][]string{}
	for i, list := range []runList{a, b} {
		ids[i] = list.ids
		entry, more := list.entry()
		entries[i], blobs = entry, append(blobs, more...)
	}
	body, err := appendJCS(nil, canon.Obj("verb", verb, "call", call, "pins", pins, "a", entries[0], "b", entries[1]))
	if err != nil {
		return "", err
	}
	id := ContentAddress("run", body)
	if sum, _ := parseAddress(id, "run:blake3:"); u.s.hasRun(sum) {
		return id, nil
	}
	idField := ""
	if c, ok := call.(*canon.Object); ok {
		idField, _ = c.Value("id_field").(string)
	}
	if _, err := u.add(KindRunRecorded, id, "", body, runBody{verb: verb, idField: idField, a: ids[0], b: ids[1]}); err != nil {
		return "", err
	}
	for _, b := range blobs {
		u.blob(b.Address, b.Bytes)
	}
	return id, nil
}

func (s *state) hasRun(id address) bool { _, ok := s.runIdx[id]; return ok }

// runList is one side of a run: record ids in list order, with the rows that
// were given under a stored address, or "every record of a type so far".
type runList struct {
	ids  []string
	rows map[int][]byte // position -> the row as given
	all  *canon.Object
}

func (l *runList) entry() (entry any, blobs []Blob) {
	if l.all != nil {
		return l.all, nil
	}
	list := make([]any, len(l.ids))
	for i, id := range l.ids {
		list[i] = id
		if data, ok := l.rows[i]; ok {
			address := ContentAddress("row", data)
			blobs = append(blobs, Blob{address, data})
			list[i] = canon.Obj("record", id, "row", address)
		}
	}
	if len(list) <= listMost {
		return list, blobs
	}
	data, _ := appendJCS(nil, list) // addresses alone, which have a canonical form
	address := ContentAddress("lst", data)
	return address, append(blobs, Blob{address, data})
}

// everyRecord is the list of all records of a type in stored order, named by
// their number and a running digest of their ids instead of their ids: a
// resolve against ten thousand records would else write them all down again.
func (s *state) everyRecord(typ word, n int) runList {
	return runList{all: canon.Obj("every", s.words.get(typ), "count", n, "digest", s.digestOf(typ, n))}
}

// digestOf is the digest of the first n record ids of a type.
func (s *state) digestOf(typ word, n int) string {
	d := s.digest[typ]
	if d.n > n {
		d = running{}
	}
	for _, i := range s.byType[typ][d.n:n] {
		id := s.recs[i].id
		d.sum = blake3.Sum256(append(d.sum[:], id[:]...))
	}
	d.n = n
	if n >= s.digest[typ].n {
		s.digest[typ] = d
	}
	return d.sum.hex()
}
