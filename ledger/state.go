package ledger

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// state is the fold of the log, kept compact in memory: no values, no bodies,
// only what joins records to decisions to entities. Records and decisions are
// named by their place in the slices; -1 is none.
type state struct {
	seq  int64  // last event folded
	link string // its link
	at   int64  // its time, microseconds

	words  interner
	recs   []record
	recIdx places           // by id
	byType map[word][]int32 // records of a type in stored order
	digest map[word]running // running digest of byType's record ids

	decs    []decision
	foreign map[address]string
	// Look-ups over decs, made when first needed: opening a large ledger to
	// read one entity needs none of them.
	subject places // last decision of a (public id, record a, record b)
	public  places // first decision of a public id
	events  places // decision of an event id
	lookup  bool   // subject and public are made
	byEvent bool   // events is made

	runs   []run
	runIdx map[address]int32

	others map[string]other // last event of every other subject

	chains   []chain
	chainOf  map[int32]int32
	versions map[int32][]int32 // records one observation away
	ops      map[[2]int32]operatorEdge
	sameOf   map[int32][]int32 // records an operator ever said same of

	ents    []entity
	entIdx  map[string]int32
	entLive int

	pending   []int32 // records stored in this unit, not yet named by a run
	pendingAt int64
	turns     int              // how often values were erased or came back
	skipped   map[string]int64 // kinds and versions that the fold does not read

	rows *rowSet // projection rows of what is folded; nil when nobody wants them
}

// address is the 32 bytes of a hash; what was hashed is known from where it
// stands.
type address [32]byte

type record struct {
	id       address
	content  address
	seq      int64
	labelPos int64 // position in its list; -1 none
	first    int64 // 2*seq (+1 for side b) of its first linking event; 0 none
	decs     []int32
	ent      int32
	typ      word
	labelKey word // id field of its list; 0 = the label is the address
	erased   bool
	absent   bool // erased, because the log came in without the values
}

type decision struct {
	public   address
	event    address
	score    float64
	seq      int64
	at       int64 // microseconds
	same     uint64
	a, b     int32
	replaces int32 // decision that this one supersedes
	replaced int32 // decision that supersedes this one
	run      int32
	nextPub  int32 // next decision with the same public id
	lastPub  int32 // last one, kept at the first
	prefix   word
	verb     word
	identity word
	action   word
	withheld word
	link     bool
}

type run struct {
	id   address
	seq  int64
	verb word
}

type other struct {
	seq   int64
	event string
}

// running is a digest over the first n records of a type.
type running struct {
	n   int
	sum address
}

// chain is the versions of one thing that observations joined.
type chain struct {
	members []int32
	newest  int32
}

type operatorEdge struct {
	verdict string
	seq     int64
	event   string
	subject string
}

func newState() *state {
	s := &state{
		link: zeroLink, words: newInterner(),
		byType: map[word][]int32{}, digest: map[word]running{},
		foreign: map[address]string{},
		runIdx:  map[address]int32{}, others: map[string]other{},
		chainOf: map[int32]int32{}, versions: map[int32][]int32{},
		ops: map[[2]int32]operatorEdge{}, sameOf: map[int32][]int32{},
		entIdx: map[string]int32{}, skipped: map[string]int64{},
	}
	s.recIdx.hash = func(i int32) uint64 { return s.recs[i].id.hash() }
	s.subject.hash = func(i int32) uint64 { d := &s.decs[i]; return subjectHash(&d.public, d.a, d.b) }
	s.public.hash = func(i int32) uint64 { return s.decs[i].public.hash() }
	s.events.hash = func(i int32) uint64 { return s.decs[i].event.hash() }
	return s
}

// recordOf is the record of an id, -1 when there is none.
func (s *state) recordOf(id *address) int32 {
	return s.recIdx.find(id.hash(), func(i int32) bool { return s.recs[i].id == *id })
}

// addRecord puts a new record at the end.
func (s *state) addRecord(r *record) int32 {
	i := int32(len(s.recs)) //nolint:gosec // bounded by the number of events
	s.recs = append(s.recs, *r)
	s.recIdx.put(r.id.hash(), i, never)
	s.byType[r.typ] = append(s.byType[r.typ], i)
	return i
}

func subjectHash(public *address, a, b int32) uint64 {
	return public.hash() ^ (uint64(uint32(a))<<32|uint64(uint32(b)))*0x9e3779b97f4a7c15 //nolint:gosec // bits, not numbers
}

// lastOf is the last decision of a public id about two records, -1 for none.
func (s *state) lastOf(public *address, a, b int32) int32 {
	s.lookups()
	return s.subject.find(subjectHash(public, a, b), func(i int32) bool {
		d := &s.decs[i]
		return d.a == a && d.b == b && d.public == *public
	})
}

// firstOf is the first decision of a public id, -1 for none.
func (s *state) firstOf(public *address) int32 {
	return s.public.find(public.hash(), func(i int32) bool { return s.decs[i].public == *public })
}

// decisionOf is the decision of an event, -1 for none.
func (s *state) decisionOf(event *address) int32 {
	if !s.byEvent {
		s.byEvent = true
		s.events.reserve(len(s.decs))
		for i := range s.decs {
			s.indexEvent(int32(i)) //nolint:gosec // bounded by the number of events
		}
	}
	return s.events.find(event.hash(), func(i int32) bool { return s.decs[i].event == *event })
}

func (s *state) indexEvent(i int32) {
	event := &s.decs[i].event
	s.events.put(event.hash(), i, func(j int32) bool { return s.decs[j].event == *event })
}

// word is the place of a text in an interner.
type word uint32

// interner keeps the few texts that repeat: types, verbs, field names.
type interner struct {
	texts []string
	index map[string]word
}

func newInterner() interner { return interner{texts: []string{""}, index: map[string]word{"": 0}} }

func (t *interner) put(s string) word {
	if n, ok := t.index[s]; ok {
		return n
	}
	n := word(len(t.texts)) //nolint:gosec // memory ends first
	s = strings.Clone(s)    // it may be a piece of an event
	t.texts = append(t.texts, s)
	t.index[s] = n
	return n
}

func (t *interner) get(n word) string { return t.texts[n] }

// parseAddress reads "prefix:algorithm:hex" with a known prefix.
func parseAddress(text, prefix string) (address, bool) {
	var a address
	h, ok := strings.CutPrefix(text, prefix)
	if !ok || !a.decode(h) {
		return address{}, false
	}
	return a, true
}

const (
	recordPrefix = "rec:sha256:"
	runPrefix    = "run:blake3:"
)

func (a address) hex() string { return hex.EncodeToString(a[:]) }

func (s *state) recordID(i int32) string { return recordPrefix + s.recs[i].id.hex() }

// lookupRecord finds a record by its address as text; -1 when there is none.
func (s *state) lookupRecord(id string) int32 {
	a, ok := parseAddress(id, recordPrefix)
	if !ok {
		return -1
	}
	return s.recordOf(&a)
}

// publicAddress splits a public decision id into its prefix and hash. Ids of
// another form are kept whole beside their hash.
func (s *state) publicAddress(id string, keep bool) (prefix word, a address) {
	if i := strings.LastIndexByte(id, ':'); i > 0 {
		if a, ok := parseAddress(id, id[:i+1]); ok {
			return s.words.put(id[:i+1]), a
		}
	}
	a = blake3.Sum256([]byte(id))
	if keep {
		s.foreign[a] = strings.Clone(id)
	}
	return 0, a
}

func (s *state) publicID(i int32) string {
	d := &s.decs[i]
	if d.prefix == 0 {
		return s.foreign[d.public]
	}
	return s.words.get(d.prefix) + d.public.hex()
}

// rowsOf lists the decisions of a public id in recorded order.
func (s *state) rowsOf(id string) []int32 {
	prefix, a := s.publicAddress(id, false)
	s.lookups()
	i := s.firstOf(&a)
	if i < 0 || s.decs[i].prefix != prefix {
		return nil
	}
	var out []int32
	for ; i >= 0; i = s.decs[i].nextPub {
		out = append(out, i)
	}
	return out
}

func (s *state) identityOf(i int32) string { return s.words.get(s.decs[i].identity) }

// linking reports whether the decision's identity joins records, whatever
// became of it.
func (s *state) linking(i int32) bool {
	switch s.identityOf(i) {
	case "match", "same_entity":
		return true
	}
	return false
}

// live reports whether nothing superseded the decision.
func (s *state) live(i int32) bool { return s.decs[i].replaced < 0 }

// joins reports whether the decision holds its two records together now.
func (s *state) joins(i int32) bool {
	d := &s.decs[i]
	return d.link && d.replaced < 0 && !s.cut(d.a, d.b)
}

func orderedPair(a, b int32) [2]int32 {
	if a > b {
		a, b = b, a
	}
	return [2]int32{a, b}
}

// cut reports whether an operator parted the pair.
func (s *state) cut(a, b int32) bool {
	if len(s.ops) == 0 {
		return false
	}
	op, ok := s.ops[orderedPair(a, b)]
	return ok && (op.verdict == VerdictDifferent || op.verdict == VerdictReview)
}

// newest is the record that an observation on this one applies to.
func (s *state) newest(r int32) int32 {
	if c, ok := s.chainOf[r]; ok {
		return s.chains[c].newest
	}
	return r
}

func wireTime(micros int64) string {
	t := time.UnixMicro(micros).UTC()
	return t.Format("2006-01-02T15:04:05") + "+00:00"
}

// floatKeys are the keys of pins whose numbers are floats although their
// canonical form may look like an integer's.
var floatKeys = map[string]bool{
	"threshold": true, "review_margin": true, "distinctive_floor": true, "lambda": true,
	"match": true, "review": true, "floor": true, "distinctive_max": true, "surfacing_floor": true,
}

// restoreNumbers gives numbers read back from an event their kind again: floats
// where the wire has floats, integers elsewhere.
func restoreNumbers(v any, float bool) any {
	switch x := v.(type) {
	case canon.Number:
		if float || !x.IsInt() {
			return canon.Float(x.Float())
		}
		return x
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = restoreNumbers(e, float)
		}
		return out
	case *canon.Object:
		out := canon.NewObject()
		for k, e := range x.All() {
			out.Set(k, restoreNumbers(e, float || floatKeys[k]))
		}
		return out
	}
	return v
}

// restoreScores is restoreNumbers for factors and weights: all floats but the
// integer levels of the statistical backend.
func restoreScores(o *canon.Object) *canon.Object {
	out := canon.NewObject()
	for k, v := range o.All() {
		switch x := v.(type) {
		case canon.Number:
			if x.IsInt() && strings.HasSuffix(k, "_level") {
				out.Set(k, x)
			} else {
				out.Set(k, canon.Float(x.Float()))
			}
		default:
			out.Set(k, restoreNumbers(v, true))
		}
	}
	return out
}
