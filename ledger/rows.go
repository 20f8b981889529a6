package ledger

import (
	"bytes"
	"cmp"
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// rowSet gathers the projection rows of what is folded, as places in the state:
// a million rows of values would take more memory than all the rest. The state
// must not lose what they point at.
type rowSet struct {
	records   []recordRow
	decisions []decisionRow
	members   []memberRow
	n         int
}

// recordRow is a row of records.
type recordRow struct {
	seq, pos int64 // pos counts when key is set
	content  address
	rec      int32
	typ, key word
}

// decisionRow is a row of decisions: what the decision itself does not tell.
type decisionRow struct {
	i    int32
	more *rowTexts // nil when the decision tells all
}

type rowTexts struct{ run, supersedes string }

// memberRow is a row of members; entity "" says that the record left one.
type memberRow struct {
	seq    int64
	entity string
	rec    int32
	typ    word
}

func newRowSet() *rowSet { return &rowSet{} }

// clear empties the set for the next rows.
func (r *rowSet) clear() {
	r.records, r.decisions, r.members, r.n = r.records[:0], r.decisions[:0], r.members[:0], 0
}

// size is the number of rows of a table.
func (r *rowSet) size(table string) int {
	switch table {
	case "records":
		return len(r.records)
	case "decisions":
		return len(r.decisions)
	}
	return len(r.members)
}

// values are rows of a table as the database takes them, from the n-th on.
func (r *rowSet) values(s *state, table string, from, to int) [][]driver.Value {
	out := make([][]driver.Value, 0, to-from)
	for n := from; n < to; n++ {
		switch table {
		case "records":
			out = append(out, r.records[n].values(s))
		case "decisions":
			out = append(out, r.decisions[n].values(s))
		default:
			out = append(out, r.members[n].values(s))
		}
	}
	return out
}

func (x *recordRow) values(s *state) []driver.Value {
	var field, pos any
	if x.key != 0 {
		field, pos = s.words.get(x.key), x.pos
	}
	return []driver.Value{x.seq, recordPrefix + s.recs[x.rec].id.hex(), s.words.get(x.typ), x.content.hex(), field, pos}
}

func (x *memberRow) values(s *state) []driver.Value {
	var id, typ any
	if x.entity != "" {
		id, typ = x.entity, s.words.get(x.typ)
	}
	return []driver.Value{x.seq, s.recordID(x.rec), id, typ}
}

// texts are the run and the event that a decision supersedes, as its row has them.
func (x *decisionRow) texts(s *state) (run, supersedes string) {
	if x.more != nil {
		return x.more.run, x.more.supersedes
	}
	d := &s.decs[x.i]
	if d.run >= 0 {
		run = runPrefix + s.runs[d.run].id.hex()
	}
	if d.replaces >= 0 {
		supersedes = eventPrefix + s.decs[d.replaces].event.hex()
	}
	return run, supersedes
}

func (x *decisionRow) values(s *state) []driver.Value {
	d := &s.decs[x.i]
	run, supersedes := x.texts(s)
	return []driver.Value{
		d.seq, eventPrefix + d.event.hex(), s.publicID(x.i), s.recordID(d.a), s.recordID(d.b), s.words.get(d.verb),
		s.words.get(d.identity), s.words.get(d.action), d.score, d.link, textOrNil(s.words.get(d.withheld)), run,
		textOrNil(supersedes), time.UnixMicro(d.at).UTC(), sameHex(d.same),
	}
}

// seq is the place of the n-th row of a table.
func (r *rowSet) seq(s *state, table string, n int) int64 {
	switch table {
	case "records":
		return r.records[n].seq
	case "decisions":
		return s.decs[r.decisions[n].i].seq
	}
	return r.members[n].seq
}

// inOrderOfSeq puts records, which wait for their labels unless they are stored
// again, into the order of their events. The others have it.
func (r *rowSet) inOrderOfSeq() {
	bySeq := func(a, b recordRow) int { return cmp.Compare(a.seq, b.seq) }
	if !slices.IsSortedFunc(r.records, bySeq) {
		slices.SortStableFunc(r.records, bySeq)
	}
}

// sortMembers puts changes into the order in which rebuilds of the first versions
// left them.
func sortMembers(s *state, members []memberRow) {
	slices.SortStableFunc(members, func(a, b memberRow) int {
		if a.seq != b.seq {
			return cmp.Compare(a.seq, b.seq)
		}
		x, y := &s.recs[a.rec].id, &s.recs[b.rec].id
		return cmp.Or(bytes.Compare(x[:], y[:]), strings.Compare(a.entity, b.entity))
	})
}

// insertChunk is how many rows are made for the database at a time.
const insertChunk = 4096

// insert adds all rows to their tables, in the order in which the fold made them:
// of two changes of one record by one event the last counts.
func (r *rowSet) insert(ctx context.Context, db *duck.DB, s *state) error {
	return r.parts(s, func(table string, rows [][]driver.Value) error { return db.Insert(ctx, table, rows) })
}

// parts makes the rows of all tables, some at a time.
func (r *rowSet) parts(s *state, take func(table string, rows [][]driver.Value) error) error {
	r.inOrderOfSeq()
	for _, table := range projections {
		for from := 0; from < r.size(table); from += insertChunk {
			to := min(from+insertChunk, r.size(table))
			if err := take(table, r.values(s, table, from, to)); err != nil {
				return err
			}
		}
	}
	return nil
}
