package ledger

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
)

// row is one record as a caller gave it, with its addresses.
type row struct {
	rec     *canon.Object
	id      string // rec:sha256:...
	blob    []byte
	content address
	stored  string // the stored record that the row is handed back for, "" otherwise
}

// newRow computes the addresses of a record of a type.
func newRow(rec *canon.Object, entityType string) (row, error) {
	id, err := publicRecordID(rec, entityType)
	blob, blobErr := canon.Sorted(rec)
	if err = cmp.Or(err, blobErr); err != nil {
		return row{}, badText(err)
	}
	return row{rec: rec, id: id, blob: blob, content: blake3.Sum256(blob)}, nil
}

// publicRecordID is the published address of a record of a type.
func publicRecordID(rec *canon.Object, entityType string) (string, error) {
	return canon.PublishedID("rec", canon.Obj("entity_type", entityType, "attributes", rec))
}

// callerID is the text form of a row's id, its position when it has none.
func callerID(rec *canon.Object, idField string, pos int64) string {
	if v, ok := rec.Get(idField); ok {
		return canon.Text(v)
	}
	return canon.Text(pos)
}

var foldCase = cases.Fold()

// foldText is the form in which two values of a field are compared: text form,
// white space collapsed, case folded.
func foldText(v any) string {
	if o, ok := v.(*canon.Object); ok { // nested values: key order means nothing
		if b, err := canon.Sorted(o); err == nil {
			return string(b)
		}
	}
	if a, ok := v.([]any); ok {
		if b, err := canon.Sorted(a); err == nil {
			return string(b)
		}
	}
	return foldCase.String(strings.Join(strings.FieldsFunc(canon.Text(v), isPythonSpace), " "))
}

// isPythonSpace is the white space that text forms are collapsed at.
func isPythonSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0d, r >= 0x1c && r <= 0x20, r == 0x85, r == 0xa0, r == 0x1680,
		r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

func blank(v any) bool { return v == nil || v == "" }

// packNames maps the names callers use to the vocabulary of the packs. Names
// that are not here stay.
var packNames = map[string]string{
	"full_name": "name", "phone_number": "phone", "date": "dob", "date_of_birth": "dob",
	"nin": "national_id", "bvn": "national_id", "pvc": "national_id", "drivers_licence": "national_id",
	"ghana_card": "national_id", "passport": "national_id", "sa_id": "national_id", "kenya_id": "national_id",
	"nid": "national_id", "nida": "national_id", "cni": "national_id", "cnie": "national_id", "bi": "national_id",
	"kebele_id": "national_id", "ssnit": "national_id", "nhif": "national_id",
}

// packForm is a record in pack vocabulary: no id, no private keys, no blanks,
// names mapped; the first key that maps to a name wins.
func packForm(rec *canon.Object) *canon.Object {
	out := canon.NewObject()
	for k, v := range rec.All() {
		if k == "id" || strings.HasPrefix(k, "_") || blank(v) {
			continue
		}
		if name, ok := packNames[k]; ok {
			k = name
		}
		if !out.Has(k) {
			out.Set(k, v)
		}
	}
	return out
}

// cache holds what was read from blobs and checked: contents, labels and the
// views made of them. It is emptied when values are erased.
type cache struct {
	most    int // contentCacheMost, but in tests
	shelf   int // shelfMost, but in tests
	content map[int32]*canon.Object
	labels  map[int32]string
	cases   map[int32]*canon.Object
	checked marks // decisions whose event was read and fits
	exact   map[int32][]exactValue
	corpora map[corpusKey]*corpus
	runs    map[int32]*runRecord
	// unindexed are contents stored of late that no part of the index holds yet.
	unindexed map[int32][]byte
}

func (c *cache) reset() {
	*c = cache{
		most:    cmp.Or(c.most, contentCacheMost),
		shelf:   cmp.Or(c.shelf, shelfMost),
		content: map[int32]*canon.Object{}, labels: map[int32]string{}, cases: map[int32]*canon.Object{},
		exact: map[int32][]exactValue{}, corpora: map[corpusKey]*corpus{},
		runs: map[int32]*runRecord{}, unindexed: map[int32][]byte{},
	}
}

// contentCacheMost bounds the records kept parsed; more are read again.
const contentCacheMost = 20_000

// reader answers questions about records during one unit of work.
type reader struct {
	ctx context.Context
	l   *Ledger
	db  *duck.DB
	s   *state
	// shelf are contents that a long answer needs, read together, checked and
	// not yet parsed.
	shelf map[int32][]byte
	// before, when set, is called before contents are read: a long unit has the
	// database busy.
	before func() error
	// u is the unit that the reading is part of: what it stored is not in the file
	// yet. It is nil when nothing is written.
	u *unit
}

func (l *Ledger) reader(ctx context.Context, db *duck.DB, s *state) *reader {
	return &reader{ctx: ctx, l: l, db: db, s: s}
}

// contentOf is a record as it was given, nil when its values were erased.
func (r *reader) contentOf(i int32) (*canon.Object, error) {
	if o, ok := r.l.cache.content[i]; ok {
		return o, nil
	}
	if data, ok := r.shelf[i]; ok {
		o, err := r.s.parseContent(i, data)
		if err == nil {
			r.l.cache.keep(i, o)
		}
		return o, err
	}
	if err := r.fetch([]int32{i}); err != nil {
		return nil, err
	}
	return r.l.cache.content[i], nil
}

// parseShelf parses what lies on the shelf of some records, on all cores, for
// the next views that are made. They must be fewer than the cache holds.
func (r *reader) parseShelf(recs []int32) error {
	c := &r.l.cache
	unread := make([]int32, 0, len(recs))
	for _, i := range recs {
		if _, ok := c.content[i]; !ok && r.shelf[i] != nil {
			unread = append(unread, i)
		}
	}
	if len(c.content)+len(unread) > c.most {
		clear(c.content) // those that are needed are parsed again when they are
	}
	parsed := make([]*canon.Object, len(unread))
	err := spread(len(unread), func(n, to int) (err error) {
		for ; n < to && err == nil; n++ {
			parsed[n], err = r.s.parseContent(unread[n], r.shelf[unread[n]])
		}
		return err
	})
	if err != nil {
		return err
	}
	for n, i := range unread {
		c.content[i] = parsed[n]
	}
	return nil
}

// keep puts a record into the cache; a full one is emptied first.
func (c *cache) keep(i int32, o *canon.Object) {
	if len(c.content) >= c.most {
		clear(c.content)
	}
	c.content[i] = o
}

// fetch reads the contents of records into the cache. All of them are there
// afterwards when they are at most contentCacheMost.
func (r *reader) fetch(want []int32) error {
	c := &r.l.cache
	missing := func() (out []int32) {
		for _, i := range want {
			if _, ok := c.content[i]; !ok && !r.s.recs[i].erased {
				out = append(out, i)
			}
		}
		return out
	}
	unread := missing()
	if len(unread) == 0 {
		return nil
	}
	if len(c.content)+len(unread) > c.most {
		clear(c.content)
		unread = missing() // those that were in it too
	}
	return r.contents(unread, func(i int32, data []byte) error {
		o, err := r.s.parseContent(i, data)
		if err == nil { // else it would pass for erased the next time
			c.content[i] = o
		}
		return err
	})
}

// stock puts the contents of records on the shelf in place of what is there.
// Those that the cache holds are put there too: it may be emptied on the way.
func (r *reader) stock(want []int32) error {
	r.shelf = make(map[int32][]byte, len(want))
	unread := make([]int32, 0, len(want))
	for _, i := range want {
		if !r.s.recs[i].erased {
			unread = append(unread, i)
		}
	}
	return r.contents(unread, func(i int32, data []byte) error {
		r.shelf[i] = data
		return nil
	})
}

// contents reads the bytes of records, compares them with what their events say
// and hands each over once.
func (r *reader) contents(want []int32, take func(i int32, data []byte) error) error {
	if r.before != nil {
		if err := r.before(); err != nil {
			return err
		}
	}
	seqs := make([]int64, 0, len(want))
	bySeq := make(map[int64]int32, len(want))
	for _, i := range want {
		seq := r.s.recs[i].seq
		if data := r.u.holds(seq); data != nil {
			if err := take(i, data); err != nil {
				return err
			}
		} else if _, ok := bySeq[seq]; !ok {
			seqs, bySeq[seq] = append(seqs, seq), i
		}
	}
	slices.Sort(seqs)
	err := r.blobsAt(seqs, func(v []driver.Value) error {
		seq, _ := v[0].(int64)
		i, ok := bySeq[seq]
		text, _ := v[1].(string)
		if id, is := parseAddress(text, recordPrefix); !ok || !is || id != r.s.recs[i].id {
			return nil
		}
		data, _ := v[2].([]byte)
		if err := r.s.checkBytes(i, data); err != nil {
			return err
		}
		delete(bySeq, seq)
		return take(i, data)
	})
	if err != nil {
		return err
	}
	gone := int32(-1)
	for _, i := range bySeq {
		if gone < 0 || i < gone {
			gone = i
		}
	}
	if gone >= 0 {
		return altered("the content of record %s is gone", r.s.recordID(gone))
	}
	return nil
}

// blobsAt reads the blobs of some events, seqs ascending: each by itself when
// they are few, else stretch by stretch, and of a stretch of which most is not
// wanted only what is.
func (r *reader) blobsAt(seqs []int64, take func(v []driver.Value) error) error {
	const few, gap = 8, 20_000
	for len(seqs) > 0 {
		n := 1
		for n < len(seqs) && seqs[n]-seqs[n-1] < gap {
			n++
		}
		part, last := seqs[:n], seqs[n-1]
		seqs = seqs[n:]
		var err error
		switch {
		case n <= few:
			for _, seq := range part {
				if err = r.db.Query(r.ctx, `SELECT seq, address, bytes FROM blobs WHERE seq = ?`, []any{seq}, take); err != nil {
					break
				}
			}
		case last-part[0] < 4*int64(n):
			err = r.db.Query(r.ctx, `SELECT seq, address, bytes FROM blobs WHERE seq >= ? AND seq <= ?`, []any{part[0], last}, take)
		default:
			err = r.db.Query(r.ctx, `SELECT seq, address, bytes FROM blobs WHERE seq >= ? AND seq <= ? AND seq IN (SELECT unnest(?))`,
				[]any{part[0], last, part}, take)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkBytes compares a record's bytes with what its event says.
func (s *state) checkBytes(i int32, data []byte) error {
	if blake3.Sum256(data) != s.recs[i].content {
		return altered("the content of record %s is not what was stored", s.recordID(i))
	}
	return nil
}

// parseContent parses a record's bytes.
func (s *state) parseContent(i int32, data []byte) (*canon.Object, error) {
	o, err := canon.ParseObject(data, canon.Limits{Depth: 1 << 16, NonFinite: true})
	if err != nil {
		return nil, altered("the content of record %s is not a record", s.recordID(i))
	}
	return o, nil
}

// checkContent compares a record's bytes with what its event says and parses them.
func (s *state) checkContent(i int32, data []byte) (*canon.Object, error) {
	if err := s.checkBytes(i, data); err != nil {
		return nil, err
	}
	return s.parseContent(i, data)
}

// asStored is a record as its blob gives it back. The order of keys matters: of
// two names for one field the first is read.
func asStored(rec *canon.Object, blob []byte) (*canon.Object, error) {
	if inOrder(rec) {
		return rec, nil
	}
	return canon.ParseObject(blob, canon.Limits{Depth: 1 << 16, NonFinite: true})
}

// inOrder reports whether all keys of a value stand as a blob has them.
func inOrder(v any) bool {
	switch v := v.(type) {
	case *canon.Object:
		last, first := "", true
		for k, item := range v.All() {
			if !first && k < last || !inOrder(item) {
				return false
			}
			last, first = k, false
		}
	case []any:
		for _, item := range v {
			if !inOrder(item) {
				return false
			}
		}
	}
	return true
}

// label is the caller's id of a record when it had one, else its address.
func (r *reader) label(i int32) (string, error) {
	if l, ok := r.l.cache.labels[i]; ok {
		return l, nil
	}
	rec := &r.s.recs[i]
	label := r.s.recordID(i)
	if rec.labelKey != 0 && !rec.erased {
		o, err := r.contentOf(i)
		if err != nil {
			return "", err
		}
		if text := callerID(o, r.s.words.get(rec.labelKey), rec.labelPos); text != "" {
			label = text
		}
	}
	r.l.cache.labels[i] = label
	return label, nil
}

// named is {record_id, label}.
func (r *reader) named(i int32) (*canon.Object, error) {
	label, err := r.label(i)
	if err != nil {
		return nil, err
	}
	return canon.Obj("record_id", r.s.recordID(i), "label", label), nil
}
