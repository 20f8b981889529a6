package ledger

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// What the fold reads of a body. The writer has it at hand; everybody else
// parses it.
type (
	storedBody struct {
		content    address
		entityType string
	}
	runBody struct {
		verb    string
		idField string
		a, b    []string // record ids in list order; b is empty when it was every record of a type
	}
	decisionBody struct {
		decisionID, run, verb, identity, action, withheld string
		score                                             float64
		link                                              bool
		same                                              uint64
	}
	observedBody struct{ newRecord string }
	operatorBody struct{ verdict string }
	erasedBody   struct{}
)

// apply folds one event. Events come in log order; body is nil for kinds that
// the fold does not read.
func (s *state) apply(e *Event, body any) error {
	at := e.recordedAt.UnixMicro()
	if at != s.pendingAt {
		s.flushPending()
		s.pendingAt = at
	}
	var err error
	switch b := body.(type) {
	case storedBody:
		err = s.applyStored(e, b)
	case runBody:
		err = s.applyRun(e, b)
	case decisionBody:
		err = s.applyDecision(e, b)
	case observedBody:
		err = s.applyObserved(e, b)
	case operatorBody:
		err = s.applyOperator(e, b)
	case erasedBody:
		s.applyErased(e)
	case nil:
		if known(e.kind) {
			s.skipped[fmt.Sprintf("%s v%d", e.kind, e.version)]++
		} else {
			s.skipped[e.kind]++
		}
		s.noteOther(e)
	}
	s.seq, s.link, s.at = e.seq, e.link, at
	return err
}

// known reports whether the fold reads events of this kind.
func known(kind string) bool {
	switch kind {
	case KindRecordStored, KindRunRecorded, KindDecisionRecorded, KindEvidenceObserved, KindOperatorDecided, KindValuesErased:
		return true
	}
	return false
}

// noteOther keeps the last event of a subject for the append rule.
func (s *state) noteOther(e *Event) {
	s.others[strings.Clone(e.subject)] = other{seq: e.seq, event: strings.Clone(e.id)}
}

func eventAddress(id string) address {
	a, _ := parseAddress(id, eventPrefix)
	return a
}

func (s *state) applyStored(e *Event, b storedBody) error {
	id, ok := parseAddress(e.subject, recordPrefix)
	if !ok {
		return alteredEvent(e, "its subject is no record id")
	}
	if i := s.recordOf(&id); i >= 0 { // stored again after its values were erased
		r := &s.recs[i]
		r.seq, r.content, r.erased, r.absent = e.seq, b.content, false, false
		s.turns++
		s.recordRow(i)
		return nil
	}
	s.pending = append(s.pending, s.addRecord(&record{
		id: id, content: b.content, seq: e.seq, labelPos: -1, ent: -1, typ: s.words.put(b.entityType),
	}))
	return nil
}

// applyRun notes the run and gives the records that its unit stored their
// label: the text of the id field of their list, or their position in it.
func (s *state) applyRun(e *Event, b runBody) error {
	id, ok := parseAddress(e.subject, runPrefix)
	if !ok {
		return alteredEvent(e, "its subject is no run id")
	}
	n := int32(len(s.runs)) //nolint:gosec // bounded by the number of events
	s.runs = append(s.runs, run{id: id, seq: e.seq, verb: s.words.put(b.verb)})
	s.runIdx[id] = n
	if b.verb != "observe" && len(s.pending) > 0 {
		fresh := s.pending[0] // and all behind it: they came one after another
		key := s.words.put(b.idField)
		for _, list := range [][]string{b.a, b.b} {
			for pos, text := range list {
				if i := s.lookupRecord(text); i >= fresh {
					s.recs[i].labelKey, s.recs[i].labelPos = key, int64(pos) // of equal rows the last one names the record
				}
			}
		}
	}
	s.flushPending()
	return nil
}

// flushPending writes the rows of stored records once their labels are known.
func (s *state) flushPending() {
	for _, i := range s.pending {
		s.recordRow(i)
	}
	s.pending = s.pending[:0]
}

func (s *state) recordRow(i int32) {
	if s.rows == nil {
		return
	}
	r := &s.recs[i]
	s.rows.records = append(s.rows.records, recordRow{seq: r.seq, pos: r.labelPos, content: r.content, rec: i, typ: r.typ, key: r.labelKey})
	s.rows.n++
}

// member notes that a record's entity changed; e is -1 when it left one.
func (s *state) member(seq int64, r, e int32) {
	if s.rows == nil {
		return
	}
	row := memberRow{seq: seq, rec: r}
	if e >= 0 {
		row.entity, row.typ = s.ents[e].id, s.ents[e].typ
	}
	s.rows.members = append(s.rows.members, row)
	s.rows.n++
}

// splitSubject reads "decision_id@record_a|record_b".
func splitSubject(subject string) (id, a, b string, ok bool) {
	id, pair, ok1 := strings.Cut(subject, "@"+recordPrefix)
	a, b, ok2 := strings.Cut(pair, "|")
	return id, recordPrefix + a, b, ok1 && ok2
}

func (s *state) applyDecision(e *Event, b decisionBody) error {
	id, ta, tb, ok := splitSubject(e.subject)
	x, y := s.lookupRecord(ta), s.lookupRecord(tb)
	if !ok || id != b.decisionID || x < 0 || y < 0 {
		return alteredEvent(e, "its subject does not fit its body or names records that were never stored")
	}
	i := int32(len(s.decs)) //nolint:gosec // bounded by the number of events
	prefix, public := s.publicAddress(id, true)
	d := decision{
		public: public, prefix: prefix, event: eventAddress(e.id), a: x, b: y, seq: e.seq, at: e.recordedAt.UnixMicro(),
		score: b.score, same: b.same, link: b.link, replaces: -1, replaced: -1, run: -1, nextPub: -1, lastPub: i,
		verb: s.words.put(b.verb), identity: s.words.put(b.identity), action: s.words.put(b.action), withheld: s.words.put(b.withheld),
	}
	if a, ok := parseAddress(b.run, runPrefix); ok {
		if n, ok := s.runIdx[a]; ok {
			d.run = n
		}
	}
	undone := false
	if e.supersedes != "" {
		event := eventAddress(e.supersedes)
		if t := s.decisionOf(&event); t >= 0 {
			undone = s.joins(t)
			d.replaces = t
			s.decs[t].replaced = i
		}
	}
	s.decs = append(s.decs, d)
	s.index(i)
	s.decisionRow(e, b)
	s.relink(i, undone)
	return nil
}

// index puts a decision into the look-ups that exist and to its records.
func (s *state) index(i int32) {
	d := &s.decs[i]
	if s.byEvent {
		s.indexEvent(i)
	}
	if s.lookup {
		s.indexPublic(i)
	}
	s.recs[d.a].decs = append(s.recs[d.a].decs, i)
	if d.b != d.a {
		s.recs[d.b].decs = append(s.recs[d.b].decs, i)
	}
}

func (s *state) indexPublic(i int32) {
	d := &s.decs[i]
	s.subject.put(subjectHash(&d.public, d.a, d.b), i, func(j int32) bool {
		o := &s.decs[j]
		return o.a == d.a && o.b == d.b && o.public == d.public
	})
	if head := s.firstOf(&d.public); head >= 0 {
		last := s.decs[head].lastPub
		s.decs[last].nextPub = i
		s.decs[head].lastPub = i
	} else {
		s.public.put(d.public.hash(), i, never)
	}
}

// lookups makes the look-ups by public id and subject.
func (s *state) lookups() {
	if s.lookup {
		return
	}
	s.lookup = true
	s.public.reserve(len(s.decs))
	s.subject.reserve(len(s.decs))
	for i := range s.decs {
		s.indexPublic(int32(i)) //nolint:gosec // bounded by the number of events
	}
}

// relink brings the entities up to a new decision; undone says that the one it
// supersedes held records together until now.
func (s *state) relink(i int32, undone bool) {
	d := &s.decs[i]
	c := change{seq: d.seq, at: d.at, batch: s.batchVerb(d.verb)}
	var fresh []int32
	if d.link && s.linking(i) {
		for side, r := range []int32{d.a, d.b} {
			if s.recs[r].first == 0 {
				s.recs[r].first = 2*d.seq + int64(side)
				fresh = append(fresh, r)
			}
		}
	}
	if s.linking(i) { // even a withheld one is counted by its entity
		for _, r := range []int32{d.a, d.b} {
			if e := s.recs[r].ent; e >= 0 {
				s.ents[e].answer = nil
			}
		}
	}
	if undone {
		old := &s.decs[d.replaces]
		s.reshape([]int32{old.a, old.b, d.a, d.b}, c)
		return
	}
	if s.joins(i) {
		s.join(d.a, d.b, c)
	}
	c.batch = false
	for _, r := range fresh {
		for _, v := range s.versions[r] {
			if s.recs[v].first != 0 {
				s.join(r, v, c)
			}
		}
	}
}

func (s *state) batchVerb(verb word) bool {
	switch s.words.get(verb) {
	case verbReconcile, verbDedupe, "resolve":
		return true
	}
	return false
}

func (s *state) decisionRow(e *Event, b decisionBody) {
	if s.rows == nil {
		return
	}
	row := decisionRow{i: int32(len(s.decs) - 1)} //nolint:gosec // bounded by the number of events
	if run, supersedes := row.texts(s); run != b.run || supersedes != e.supersedes {
		row.more = &rowTexts{strings.Clone(b.run), strings.Clone(e.supersedes)}
	}
	s.rows.decisions = append(s.rows.decisions, row)
	s.rows.n++
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func sameHex(n uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return hex.EncodeToString(b[:])
}

func (s *state) applyObserved(e *Event, b observedBody) error {
	from := s.lookupRecord(strings.TrimPrefix(e.subject, "obs:"))
	to := s.lookupRecord(b.newRecord)
	if from < 0 || to < 0 {
		return alteredEvent(e, "it names records that were never stored")
	}
	s.noteOther(e)
	s.chain(from, to)
	for _, m := range s.chains[s.chainOf[to]].members {
		if e := s.recs[m].ent; e >= 0 {
			s.ents[e].forget()
		}
	}
	if from == to {
		return nil
	}
	if slices.Contains(s.versions[from], to) {
		return nil
	}
	s.versions[from] = append(s.versions[from], to)
	s.versions[to] = append(s.versions[to], from)
	if s.recs[from].first != 0 && s.recs[to].first != 0 {
		s.join(from, to, change{seq: e.seq, at: e.recordedAt.UnixMicro()})
	}
	return nil
}

// chain joins two versions; to is the newest of all of them now.
func (s *state) chain(from, to int32) {
	cf, okf := s.chainOf[from]
	ct, okt := s.chainOf[to]
	switch {
	case !okf && !okt:
		cf = int32(len(s.chains)) //nolint:gosec // bounded by the number of events
		s.chains = append(s.chains, chain{members: []int32{from}})
		s.chainOf[from] = cf
		if to != from {
			s.chains[cf].members = append(s.chains[cf].members, to)
			s.chainOf[to] = cf
		}
	case !okf:
		cf = ct
		s.chains[cf].members = append(s.chains[cf].members, from)
		s.chainOf[from] = cf
	case !okt:
		s.chains[cf].members = append(s.chains[cf].members, to)
		s.chainOf[to] = cf
	case cf != ct:
		for _, m := range s.chains[ct].members {
			s.chainOf[m] = cf
		}
		s.chains[cf].members = append(s.chains[cf].members, s.chains[ct].members...)
		s.chains[ct].members = nil
	}
	s.chains[cf].newest = to
}

// pairOf reads the two records of an operator's subject, sides kept.
func (s *state) pairOf(subject string) (a, b int32) {
	ta, tb, _ := strings.Cut(strings.TrimPrefix(subject, "pair:"), "|")
	return s.lookupRecord(ta), s.lookupRecord(tb)
}

func (s *state) applyOperator(e *Event, b operatorBody) error {
	x, y := s.pairOf(e.subject)
	if x < 0 || y < 0 {
		return alteredEvent(e, "it names records that were never stored")
	}
	s.noteOther(e)
	key := orderedPair(x, y)
	if _, ok := s.ops[key]; !ok {
		s.sameOf[x] = append(s.sameOf[x], y)
		s.sameOf[y] = append(s.sameOf[y], x)
	}
	s.ops[key] = operatorEdge{verdict: b.verdict, seq: e.seq, event: strings.Clone(e.id), subject: strings.Clone(e.subject)}
	if b.verdict == "same" {
		for side, r := range []int32{x, y} {
			if s.recs[r].first == 0 {
				s.recs[r].first = 2*e.seq + int64(side)
			}
		}
	}
	seeds := []int32{x, y}
	for _, r := range []int32{x, y} {
		if s.recs[r].first != 0 {
			seeds = append(seeds, s.versions[r]...)
		}
	}
	s.reshape(seeds, change{seq: e.seq, at: e.recordedAt.UnixMicro()})
	return nil
}

func (s *state) applyErased(e *Event) {
	s.noteOther(e)
	if i := s.lookupRecord(e.subject); i >= 0 {
		s.recs[i].erased = true
		s.turns++
	}
	for i := range s.ents { // what was read from values is read again
		s.ents[i].forget()
	}
}
