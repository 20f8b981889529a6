package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// judged is a pair's full verdict.
type judged struct {
	score       float64 // not rounded
	decision    string
	evidence    *canon.Object
	distinctive float64 // not rounded
}

// judge computes everything about a surfaced pair.
func (w *scorer) judge(i, j int32, threshold float64) (judged, error) {
	if err := w.all(i, j); err != nil {
		return judged{}, err
	}
	return w.verdict(i, j, threshold), nil
}

// settle is judge for the pair that was just screened and surfaced.
func (w *scorer) settle(i, j int32, threshold float64) (judged, error) {
	for _, c := range w.p.unscreened {
		if !w.prunes {
			break // everything was computed
		}
		s, err := w.similarity(c, i, j)
		if err != nil {
			return judged{}, err
		}
		w.sims[c] = s
	}
	return w.verdict(i, j, threshold), nil
}

// verdict is what the similarities of a pair say together.
func (w *scorer) verdict(i, j int32, threshold float64) judged {
	v := verdict{w: w, i: i, j: j, evidence: w.evidence[:0]}
	for c, s := range w.sims {
		if !math.IsNaN(s) {
			v.weigh(c, s)
		}
	}
	if w.p.v2 {
		v.birthday()
	}
	if v.formConflict {
		if v.idAgrees {
			v.note("legal_form_conflict_yielded", canon.Float(1))
		} else {
			v.conflict = true
		}
	}
	w.evidence = v.evidence
	score, ok := w.total()
	if !ok {
		return judged{}
	}
	out := judged{score: score, decision: decisionReview, evidence: canon.NewObject(v.evidence...), distinctive: v.distinctive}
	if score >= threshold && v.distinctive >= DistinctiveFloor && !v.conflict {
		out.decision = decisionMatch
	}
	return out
}

// verdict gathers evidence over the comparators of one pair.
type verdict struct {
	w            *scorer
	i, j         int32
	evidence     []canon.Member
	conflict     bool
	formConflict bool
	idAgrees     bool
	distinctive  float64
}

func (v *verdict) set(key string, f float64, decimals int) {
	v.note(key, evidenceOf(round(f, decimals)))
}

// note puts evidence under a key: in place when the key is there.
func (v *verdict) note(key string, value any) {
	for i := range v.evidence {
		if v.evidence[i].Key == key {
			v.evidence[i].Value = value
			return
		}
	}
	v.evidence = append(v.evidence, canon.Member{Key: key, Value: value})
}

func (v *verdict) has(key string) bool {
	return slices.ContainsFunc(v.evidence, func(m canon.Member) bool { return m.Key == key })
}

// thousandths are similarities as evidence: most edges share the same few.
var thousandths = func() (list [1001]any) {
	for i := range list {
		list[i] = canon.Float(float64(i) / 1000)
	}
	return list
}()

func evidenceOf(f float64) any {
	if f > 0 && f <= 1 {
		if shared := thousandths[int(f*1000+0.5)]; shared == any(canon.Float(f)) {
			return shared
		}
	}
	return canon.Float(f)
}

// weigh notes what one comparator's similarity says.
func (v *verdict) weigh(c int, s float64) {
	cmp := &v.w.p.comps[c]
	key := cmp.label
	if v.has(key) {
		key += "_" + cmp.kind.String()
	}
	v.set(key, s, 3)
	if cmp.hasFloor && s < cmp.refutes && !v.w.p.agreesCoarsely(cmp, s) {
		v.set(key+"_conflict", s, 3)
		if cmp.kind == kindLegalForm {
			v.formConflict = true
		} else {
			v.conflict = true
		}
	}
	switch cmp.kind {
	case kindID:
		v.idAgrees = v.idAgrees || s >= 1
	case kindGeo:
		v.distance(cmp)
	case kindContainment:
		v.conflict = v.conflict || s == 0
	}
	if cmp.distinctive {
		v.distinguish(cmp, s)
	}
}

// birthday makes a whole date and a name that both agree distinctive together.
func (v *verdict) birthday() {
	name, day := 0.0, false
	for c, s := range v.w.sims {
		if math.IsNaN(s) {
			continue
		}
		switch v.w.p.comps[c].kind {
		case kindName:
			name = max(name, s)
		case kindDate:
			day = day || s == 1 && v.wholeDates(c)
		}
	}
	if day && name >= nameMatch {
		v.distinctive = 1
	}
}

// wholeDates reports whether both sides of a date comparator name a day.
func (v *verdict) wholeDates(c int) bool {
	col, dates := v.w.p.comps[c].column, v.w.s.feats[c].dates
	return dates[v.w.rowA[col]].precision == 3 && dates[v.w.rowB[col]].precision == 3
}

// agreesCoarsely reports whether a similarity below the floor is that of dates
// that agree as far as the shorter one goes. That refutes nothing.
func (p *plan) agreesCoarsely(cmp *comparator, s float64) bool {
	return p.v2 && cmp.kind == kindDate && s >= yearAgreement
}

// distance notes how far apart the points are, and that they are too far.
func (v *verdict) distance(cmp *comparator) {
	km, ok := distanceKm(v.w.a.point(cmp.geo, v.i), v.w.b.point(cmp.geo, v.j))
	if !ok {
		return
	}
	v.set("distance_km", km, 2)
	if cmp.hasVeto && km > cmp.veto {
		v.conflict = true
		v.set("geo_conflict_km", km, 2)
	}
}

// distinguish bounds what agreement means by how rare the agreed words are.
func (v *verdict) distinguish(cmp *comparator, s float64) {
	bounded := s
	if cmp.rawColumn >= 0 {
		col := &v.w.s.cols[cmp.rawColumn]
		a, b := v.w.a.ref(cmp.rawColumn, v.i), v.w.b.ref(cmp.rawColumn, v.j)
		if a >= 0 && b >= 0 && !col.blank[a] && !col.blank[b] {
			bounded = min(s, v.w.s.commonRarity(col, a, b))
			v.phrase(col, a, b)
		}
	}
	v.distinctive = max(v.distinctive, bounded)
}

// phrase notes the common phrase that is rarer than any common word.
func (v *verdict) phrase(col *column, a, b int32) {
	s := v.w.s
	id, d := s.bestPhrase(col, a, b)
	if id < 0 {
		return
	}
	sets := s.ruleSets(col)
	if d > s.toks.rarestShared(sets.at(a), sets.at(b)) {
		v.note("name_phrase", s.phrases.text[id])
		v.set("name_phrase_rarity", d, 3)
	}
}

// sealer computes decision ids under one set of pins.
type sealer struct {
	pins []byte
	buf  []byte
	text []byte
	keys []string
}

func newSealer(pins *canon.Object) (*sealer, error) {
	b, err := canon.Published(pins)
	if err != nil {
		return nil, badText(err)
	}
	return &sealer{pins: b}, nil
}

func badText(err error) error {
	return fault.Wrap(err, fault.Invalid, "an id, a field name or a comparator holds text that is not valid UTF-8")
}

// id is the content address of an edge: the hash of its published form with the
// pins it was made under.
func (s *sealer) id(e *Edge) (string, error) {
	b, err := appendPublished(append(s.buf[:0], `{"a_id":`...), e.AID)
	if err != nil {
		return "", err
	}
	if b, err = appendPublished(append(b, `,"b_id":`...), e.BID); err != nil {
		return "", err
	}
	b = append(b, `,"decision":"`...)
	b = append(b, e.Decision...)
	b = append(b, `","distinctive_max":`...)
	b = appendFixed(b, e.DistinctiveMax)
	b = append(b, `,"evidence":`...)
	if b, err = s.appendEvidence(b, e.Evidence); err != nil {
		return "", err
	}
	b = append(b, `,"pins":`...)
	b = append(b, s.pins...)
	b = append(b, `,"schema":"arche.crosswalk_edge.v1","score":`...)
	b = appendFixed(b, e.Score)
	b = append(b, '}')
	s.buf = b
	sum := sha256.Sum256(b)
	text := append(s.text[:0], "xwd:sha256:"...)
	s.text = hex.AppendEncode(text, sum[:])
	return string(s.text), nil
}

// appendFixed writes a number with four decimals, as a text.
func appendFixed(b []byte, f float64) []byte {
	b = append(b, '"')
	const most = 1e6
	if f >= 0 && f < most && !math.Signbit(f) {
		// Nearly all numbers here were rounded, so their digits are known.
		if n := uint64(f*10000 + 0.5); float64(n)/10000 == f {
			b = strconv.AppendUint(b, n/10000, 10)
			n %= 10000
			return append(b, '.', byte('0'+n/1000), byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10), '"')
		}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		b = append(b, canon.FixedText(f, 4)...)
	} else {
		b = strconv.AppendFloat(b, f, 'f', 4, 64)
	}
	return append(b, '"')
}

func (s *sealer) appendEvidence(b []byte, e *canon.Object) ([]byte, error) {
	s.keys = s.keys[:0]
	for k := range e.All() {
		s.keys = append(s.keys, k)
	}
	slices.Sort(s.keys)
	b = append(b, '{')
	for i, k := range s.keys {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPublished(b, k); err != nil {
			return b, err
		}
		b = append(b, ':')
		switch v := e.Value(k).(type) {
		case canon.Float:
			b = appendFixed(b, float64(v))
		default:
			if b, err = appendPublished(b, v); err != nil {
				return b, err
			}
		}
	}
	return append(b, '}'), nil
}

// appendPublished writes a value in its published form. Ids and keys are plain
// text almost always, which needs no detour.
func appendPublished(b []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case string:
		if plainText(x) {
			b = append(b, '"')
			b = append(b, x...)
			return append(b, '"'), nil
		}
	case int:
		return strconv.AppendInt(b, int64(x), 10), nil
	}
	p, err := canon.Published(v)
	if err != nil {
		return b, badText(err)
	}
	return append(b, p...), nil
}

// plainText reports whether a text is ASCII with nothing to escape.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
