package packs

import (
	"bytes"
	"compress/flate"
	"embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sort"
	"sync"
)

//go:embed data/resolve
var resolveFiles embed.FS

// TableInfo describes a frequency table without loading it.
type TableInfo struct {
	Total           float64 `json:"total"`         // the count that rates are taken of; not always the sum
	UnknownFloor    float64 `json:"unknown_floor"` // rate of a token that is not in the table
	TokenRule       string  `json:"token_rule"`    // plain or possessive
	Version         string  `json:"version"`       // sha256: and 16 hexadecimal digits
	DeclaredVersion string  `json:"declared_version"`
	RarestCount     float64 `json:"rarest_count"`
	Entries         int     `json:"entries"`
}

// Table is a frequency table: tokens in byte order with their counts. It is
// read-only and safe for concurrent use.
type Table struct {
	TableInfo
	Name string

	text    []byte   // all tokens, one after the other
	ends    []uint32 // where each token ends
	counts  []float64
	planes  []byte // index into counts, low bytes of all tokens first
	buckets [257]uint32
}

var tables struct {
	once  sync.Once
	err   error
	infos map[string]TableInfo
	mu    sync.Mutex
	open  map[string]*Table
}

// tableInfos are the frequency tables there are: person, artist, place,
// place_phrases, organisation, organisation_gb and english.
func tableInfos() (map[string]TableInfo, error) {
	tables.once.Do(func() {
		tables.open = make(map[string]*Table)
		tables.err = readResolveJSON("tables.json", &tables.infos)
	})
	return tables.infos, tables.err
}

func readResolveJSON(name string, into any) error {
	data, err := resolveFiles.ReadFile("data/resolve/" + name)
	if err != nil {
		return fmt.Errorf("read pack file %s: %w", name, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read pack file %s: %w", name, err)
	}
	return nil
}

// FrequencyTableInfo describes a table without decompressing it.
func FrequencyTableInfo(name string) (TableInfo, error) {
	infos, err := tableInfos()
	if err != nil {
		return TableInfo{}, err
	}
	info, ok := infos[name]
	if !ok {
		return TableInfo{}, fmt.Errorf("no frequency table %q", name)
	}
	return info, nil
}

// FrequencyTable returns a table, decompressing it at its first use.
func FrequencyTable(name string) (*Table, error) {
	info, err := FrequencyTableInfo(name)
	if err != nil {
		return nil, err
	}
	tables.mu.Lock()
	defer tables.mu.Unlock()
	if t := tables.open[name]; t != nil {
		return t, nil
	}
	data, err := resolveFiles.ReadFile("data/resolve/" + name + ".tf")
	if err != nil {
		return nil, fmt.Errorf("read frequency table %s: %w", name, err)
	}
	t, err := readTable(data)
	if err != nil {
		return nil, fmt.Errorf("read frequency table %s: %w", name, err)
	}
	t.Name, t.TableInfo = name, info
	tables.open[name] = t
	return t, nil
}

// maxTableBytes bounds what a table may decompress to.
const maxTableBytes = 64 << 20

// readTable reads the form the tables are stored in: deflated; little-endian
// number of tokens and of distinct counts; the length of each token in a byte;
// the distinct counts as float64, ascending; the index of each token's count in
// three byte planes; the tokens in byte order without separators.
func readTable(data []byte) (*Table, error) {
	body, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxTableBytes))
	if err != nil {
		return nil, err
	}
	if len(body) < 8 {
		return nil, io.ErrUnexpectedEOF
	}
	n, distinct := int(binary.LittleEndian.Uint32(body)), int(binary.LittleEndian.Uint32(body[4:]))
	if n > maxTableBytes || distinct > maxTableBytes || len(body) < 8+4*n+8*distinct {
		return nil, io.ErrUnexpectedEOF
	}
	lengths := body[8 : 8+n]
	rest := body[8+n:]
	t := &Table{ends: make([]uint32, n), counts: make([]float64, distinct)}
	for i := range t.counts {
		t.counts[i] = math.Float64frombits(binary.LittleEndian.Uint64(rest[8*i:]))
	}
	rest = rest[8*distinct:]
	t.planes, t.text = rest[:3*n], rest[3*n:]
	end := uint32(0)
	for i, l := range lengths {
		end += uint32(l)
		t.ends[i] = end
	}
	if int(end) != len(t.text) {
		return nil, io.ErrUnexpectedEOF
	}
	t.index()
	return t, nil
}

// index notes where each first byte starts, which saves half of a search.
func (t *Table) index() {
	for b := range 256 {
		t.buckets[b] = uint32(sort.Search(len(t.ends), func(i int) bool {
			tok := t.token(i)
			return len(tok) > 0 && int(tok[0]) >= b
		}))
	}
	t.buckets[256] = uint32(len(t.ends))
}

func (t *Table) token(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text[start:t.ends[i]]
}

func (t *Table) count(i int) float64 {
	n := len(t.ends)
	k := int(t.planes[i]) | int(t.planes[n+i])<<8 | int(t.planes[2*n+i])<<16
	if k >= len(t.counts) {
		return 0
	}
	return t.counts[k]
}

// Count returns the count of a token and whether the table holds it.
func (t *Table) Count(token string) (float64, bool) {
	if token == "" {
		return 0, false
	}
	lo, hi := int(t.buckets[token[0]]), int(t.buckets[int(token[0])+1])
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch tok := t.token(mid); {
		case string(tok) < token:
			lo = mid + 1
		case string(tok) == token:
			return t.count(mid), true
		default:
			hi = mid
		}
	}
	return 0, false
}

// All calls yield with every token and its count in byte order, until it
// returns false.
func (t *Table) All(yield func(token string, count float64) bool) {
	for i := range t.ends {
		if !yield(string(t.token(i)), t.count(i)) {
			return
		}
	}
}
