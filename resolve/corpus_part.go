package resolve

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode"

	"github.com/zeebo/blake3"
)

// ErrPart means that bytes are no part of a corpus: damaged, or of another form.
var ErrPart = errors.New("not a part of a corpus")

// partVersion is the version of the form of parts, and of how words and
// identifiers are read: a change of either needs a new one.
const partVersion = 1

// Form names everything that a part depends on beside its records. Parts of one
// form can be attached to each other's corpora. It is short and printable.
func Form(entity, packVersion, engine string) (string, error) {
	p, err := planFor(entity, packVersion, engine)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	note := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	note(p.listHash)
	note(unicode.Version)
	for _, f := range p.kept() {
		note(f)
	}
	for i := range p.columns {
		if d := p.columns[i].stripType; d != "" {
			note(d)
		}
	}
	if p.v2 {
		note(p.reading.forms.pin)
	}
	return fmt.Sprintf("%d:%s@%s:%s:%s", partVersion, p.entity, p.packVersion, p.engine(), hex.EncodeToString(h.Sum(nil))[:16]), nil
}

// Part is a stretch of records as a corpus finds them, made once and kept as
// bytes. It is safe for concurrent reading.
type Part struct {
	n, coordless int
	source       string
	ignored      []string
	rows         table
	sketches     []byte // 8 bytes a row
	keys         [keyKinds]lookup
	counts       counts
	codes        map[string]counts // by category
}

// keyKind is what a record is found by.
type keyKind int

const (
	keyWord keyKind = iota
	keyID
	keyFineCell // cellResolutions[0]
	keyWideCell
	keyKinds
)

// table is a list of byte strings end to end.
type table struct{ ends, data []byte }

func (t table) len() int { return len(t.ends) / 4 }

func (t table) end(i int) uint32 { return binary.LittleEndian.Uint32(t.ends[4*i:]) }

func (t table) at(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = t.end(i - 1)
	}
	return t.data[start:t.end(i)]
}

// lookup leads from keys in byte order to ascending rows.
type lookup struct{ keys, rows table }

// find returns the packed rows of a key.
func (l *lookup) find(key string) []byte {
	n := l.keys.len()
	i := sort.Search(n, func(i int) bool { return string(l.keys.at(i)) >= key })
	if i == n || string(l.keys.at(i)) != key {
		return nil
	}
	return l.rows.at(i)
}

// counts are tokens in byte order with their counts.
type counts struct {
	tokens table
	n      []byte
}

func (c counts) list() []counted {
	out := make([]counted, c.tokens.len())
	text, start := string(c.tokens.data), uint32(0)
	for i := range out {
		end := c.tokens.end(i)
		out[i] = counted{text[start:end], int64(binary.LittleEndian.Uint32(c.n[4*i:]))}
		start = end
	}
	return out
}

// appendRows unpacks ascending rows: how many, the first, then the steps.
func appendRows(out []int32, b []byte, base, n int) ([]int32, error) {
	count, k := binary.Uvarint(b)
	if k <= 0 || count > uint64(n) {
		return out, ErrPart
	}
	b = b[k:]
	row := uint64(0)
	for range count {
		step, k := uint64(0), 1
		if len(b) > 0 && b[0] < 0x80 {
			step = uint64(b[0])
		} else if step, k = binary.Uvarint(b); k <= 0 {
			return out, ErrPart
		}
		b = b[k:]
		if row += step; row >= uint64(n) {
			return out, ErrPart
		}
		out = append(out, int32(base)+int32(row)) //nolint:gosec // rows are bounded by maxRows
	}
	return out, nil
}

// partMagic begins every part.
var partMagic = []byte("arche corpus\x00\x01\n\x1a")

const partDigest = 32

// OpenPart reads a part. It keeps b. Its digest and its structure are checked:
// a part that opens can be searched without meeting anything out of bounds.
func OpenPart(b []byte) (*Part, error) {
	at := len(b) - partDigest
	if at < len(partMagic) || !bytes.HasPrefix(b, partMagic) {
		return nil, ErrPart
	}
	if sum := blake3.Sum256(b[:at]); !bytes.Equal(sum[:], b[at:]) {
		return nil, ErrPart
	}
	r := partReader{rest: b[len(partMagic):at]}
	p := &Part{codes: make(map[string]counts)}
	if head := r.section(); len(head) == 16 {
		p.n, p.coordless = r.number(head), r.number(head[8:])
	} else {
		r.bad = true
	}
	p.source = string(r.section())
	for _, f := range r.table().all() {
		p.ignored = append(p.ignored, string(f))
	}
	p.rows, p.sketches = r.table(), r.section()
	if p.rows.len() != p.n || len(p.sketches) != 8*p.n || p.coordless > p.n {
		r.bad = true
	}
	for kind := range p.keys {
		p.keys[kind] = r.lookup()
	}
	p.counts = r.counts()
	for _, c := range r.table().all() {
		p.codes[string(c)] = r.counts()
	}
	if r.bad || len(r.rest) > 0 {
		return nil, ErrPart
	}
	return p, nil
}

// Len is the number of records.
func (p *Part) Len() int { return p.n }

// Source is what the maker of the part said it was made of.
func (p *Part) Source() string { return p.source }

// partReader reads sections; bad is set when something does not fit, and all
// that is read is empty from then on.
type partReader struct {
	rest []byte
	bad  bool
}

func (r *partReader) section() []byte {
	if r.bad || len(r.rest) < 4 {
		r.bad = true
		return nil
	}
	n := binary.LittleEndian.Uint32(r.rest)
	if uint64(n) > uint64(len(r.rest)-4) {
		r.bad = true
		return nil
	}
	b := r.rest[4 : 4+n]
	r.rest = r.rest[4+n:]
	return b
}

func (r *partReader) number(b []byte) int {
	n := binary.LittleEndian.Uint64(b)
	if n > maxRows {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *partReader) table() table {
	t := table{r.section(), r.section()}
	last := uint32(0)
	if len(t.ends)%4 != 0 {
		r.bad = true
	}
	for i := 0; i < t.len() && !r.bad; i++ {
		if t.end(i) < last {
			r.bad = true
		}
		last = t.end(i)
	}
	if r.bad || uint64(last) != uint64(len(t.data)) {
		r.bad = true
		return table{}
	}
	return t
}

func (r *partReader) lookup() lookup {
	l := lookup{r.table(), r.table()}
	if l.keys.len() != l.rows.len() {
		r.bad = true
		return lookup{}
	}
	return l
}

func (r *partReader) counts() counts {
	c := counts{r.table(), r.section()}
	if c.tokens.len()*4 != len(c.n) {
		r.bad = true
		return counts{}
	}
	return c
}

// all are the entries of a short table.
func (t table) all() [][]byte {
	out := make([][]byte, t.len())
	for i := range out {
		out[i] = t.at(i)
	}
	return out
}

// String says what a part holds, for messages and tests.
func (p *Part) String() string {
	return fmt.Sprintf("%d records, %d words, %d identifiers, %d+%d cells, %d counted tokens, ignoring %s", p.n, p.keys[keyWord].keys.len(),
		p.keys[keyID].keys.len(), p.keys[keyFineCell].keys.len(), p.keys[keyWideCell].keys.len(), p.counts.tokens.len(), strings.Join(p.ignored, ","))
}
