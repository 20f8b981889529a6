package ledger

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
)

// content is a row of blobs.
type content struct {
	seq     int64
	address string
	data    []byte
}

// blobChunk is how many places of the log contents are read for at a time.
const blobChunk = 4096

// blobs recomputes the address of every content, and finds those missing.
func (v *verification) blobs() error {
	if !v.broken {
		if err := v.absent(); err != nil {
			return err
		}
	}
	var have marks
	wrong := func(seq int64, address, what string) {
		v.report.add(Finding{Seq: seq, Table: "blobs", Field: "bytes", What: clip(address) + ": " + what})
	}
	err := ahead(v.contents, func(list []content) error {
		slices.SortFunc(list, func(a, b content) int {
			return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.address, b.address))
		})
		places, said := make([]int32, len(list)), make([]string, len(list))
		_ = spread(len(list), func(n, to int) error {
			for ; n < to; n++ {
				places[n], said[n] = v.content(&list[n])
			}
			return nil
		})
		for n, what := range said {
			if i := places[n]; i >= 0 {
				if have.has(i) {
					wrong(list[n].seq, list[n].address, "it is there twice")
				}
				have.set(i)
			}
			if what != "" {
				wrong(list[n].seq, list[n].address, what)
			}
		}
		return nil
	})
	if err != nil || v.broken {
		return err
	}
	if err := v.pairing(wrong); err != nil {
		return err
	}
	for i := range v.state.recs {
		n := int32(i) //nolint:gosec // bounded by the number of events
		if r := &v.state.recs[i]; !r.erased && !have.has(n) {
			wrong(r.seq, v.state.recordID(n), contentGone)
		}
	}
	return nil
}

// contents reads all contents, those of the events piece by piece.
func (v *verification) contents(put func([]content) error) error {
	var list []content
	take := func(x []driver.Value) error {
		var c content
		c.seq, _ = x[0].(int64)
		c.address, _ = x[1].(string)
		c.data, _ = x[2].([]byte)
		list = append(list, c)
		return nil
	}
	const columns = `SELECT seq, address, bytes FROM blobs `
	for from := int64(1); from <= v.report.Events; from += blobChunk {
		list = nil
		err := v.db.Query(v.ctx, columns+`WHERE seq >= ? AND seq < ?`, []any{from, min(from+blobChunk, v.report.Events+1)}, take)
		if err == nil {
			err = put(list)
		}
		if err != nil {
			return err
		}
	}
	list = nil
	if err := v.db.Query(v.ctx, columns+`WHERE seq IS NULL OR seq < 1 OR seq > ?`, []any{v.report.Events}, take); err != nil {
		return err
	}
	return put(list)
}

// content says what is wrong with a content, "" when nothing is, and which
// record it is of, -1 when of none.
func (v *verification) content(c *content) (rec int32, what string) {
	switch {
	case strings.HasPrefix(c.address, recordPrefix):
		i := v.state.lookupRecord(c.address)
		if i < 0 {
			if v.broken {
				return -1, ""
			}
			return -1, "no event stored it"
		}
		if r := &v.state.recs[i]; r.seq != c.seq && (!r.erased || r.absent) {
			return -1, "it does not lie with its event"
		}
		return i, v.record(i, c)
	case !fitsAddress(c.address, c.data):
		return -1, "the content does not fit the address"
	case c.seq < 1 || c.seq > v.report.Events:
		return -1, "it lies with no event"
	}
	return -1, ""
}

// record recomputes a record's public id from its content.
func (v *verification) record(i int32, c *content) (what string) {
	if v.state.recs[i].erased {
		return "values were erased and are still there"
	}
	o, err := v.state.checkContent(i, c.data)
	if err != nil {
		return "the content is not what was stored"
	}
	id, err := publicRecordID(o, v.state.words.get(v.state.recs[i].typ))
	if err != nil || id != c.address {
		return "the content does not fit the record's id"
	}
	return ""
}

// absent notes which contents did not come in with the log; what was stored later
// must be there.
func (v *verification) absent() (err error) {
	if v.from, err = contentsFrom(v.ctx, v.db); err != nil || v.from == 1 {
		return err
	}
	v.report.Notes = append(v.report.Notes, fmt.Sprintf("the log up to event %d was imported; contents that did not come with it are not looked for", v.from-1))
	return v.state.markAbsent(v.ctx, v.db, "")
}

// pairing compares contents with the events that name them, both ways. Contents
// that an event says were erased are missing rightly.
func (v *verification) pairing(wrong func(int64, string, string)) error {
	for _, check := range []struct{ sql, what string }{
		{`SELECT b.seq, b.address FROM blobs b LEFT JOIN events e ON b.seq = e.seq
			WHERE e.seq IS NULL OR NOT (e.subject = b.address OR contains(e.body, b.address)) ORDER BY ALL`, "the event it lies with does not name it"},
		{`SELECT n.seq, n.address FROM (
				SELECT seq, unnest(regexp_extract_all(body, '(?:txt|row|lst):blake3:[0-9a-f]{64}')) AS address FROM events
				WHERE contains(body, 'txt:blake3:') OR contains(body, 'row:blake3:') OR contains(body, 'lst:blake3:')) n
			ANTI JOIN blobs b ON b.seq = n.seq AND b.address = n.address
			ANTI JOIN (SELECT subject FROM events WHERE kind = 'values.erased') x ON x.subject = n.address ORDER BY ALL`, contentGone},
		{`SELECT n.seq, n.address FROM (SELECT seq, body ->> '$.address' AS address FROM events WHERE kind = 'document.written') n
			ANTI JOIN blobs b ON b.address = n.address
			ANTI JOIN (SELECT subject FROM events WHERE kind = 'values.erased') x ON x.subject = n.address ORDER BY ALL`, contentGone},
		{`SELECT seq, address FROM blobs GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL`, "it is there twice"},
	} {
		err := v.db.Query(v.ctx, check.sql, nil, func(x []driver.Value) error {
			seq, _ := x[0].(int64)
			address, _ := x[1].(string)
			if check.what == contentGone && seq < v.from && !strings.HasPrefix(address, "lst:") {
				return nil
			}
			wrong(seq, address, check.what)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// projectionColumns are the columns of the projections in their order, with what
// they hold: n a number or a truth value, t a text, m a moment.
var projectionColumns = map[string]string{
	"records": "seq:n record_id:t entity_type:t content:t label_field:t label_position:n",
	"decisions": "seq:n event_id:t decision_id:t record_a:t record_b:t verb:t identity:t action:t score:n links:n withheld:t " +
		"run_id:t supersedes:t recorded_at:m sameness:t",
	"members": "seq:n record_id:t entity_id:t entity_type:t",
}

// lineOfRow is the expression that makes a line of a row, as appendLine does:
// two rows have one line only when they are equal.
func lineOfRow(table string) string {
	var numbers, texts []string
	for column := range strings.FieldsSeq(projectionColumns[table]) {
		name, kind, _ := strings.Cut(column, ":")
		switch kind {
		case "t":
			numbers = append(numbers, "coalesce(strlen("+name+")::VARCHAR, 'n')")
			texts = append(texts, name)
		case "m":
			numbers = append(numbers, "CASE WHEN isfinite("+name+") THEN epoch_us("+name+")::VARCHAR ELSE 'n' END")
		default:
			numbers = append(numbers, "coalesce("+name+"::VARCHAR, 'n')")
		}
	}
	return "concat(" + strings.Join(numbers, ", ' ', ") + ", ' ', " + strings.Join(texts, ", ") + ", chr(10))"
}

// appendLine appends a row as a line. A number that the database writes in
// another way only costs a second look.
func appendLine(b []byte, row []driver.Value) []byte {
	for _, x := range row {
		switch x := x.(type) {
		case nil:
			b = append(b, 'n')
		case string:
			b = strconv.AppendInt(b, int64(len(x)), 10)
		case int64:
			b = strconv.AppendInt(b, x, 10)
		case float64:
			b = append(b, canon.FloatText(x)...)
		case bool:
			b = strconv.AppendBool(b, x)
		case time.Time:
			b = strconv.AppendInt(b, x.UnixMicro(), 10)
		}
		b = append(b, ' ')
	}
	for _, x := range row {
		if text, ok := x.(string); ok {
			b = append(b, text...)
		}
	}
	return append(b, '\n')
}

// projection compares a table with the rows that the fold gives.
func (v *verification) projection(table string) error {
	rows, s := v.state.rows, v.state
	rows.inOrderOfSeq()
	from, at := int64(1), 0 // the next place, and the next row of the fold
	var doubtful [][3]int64 // first place, rows of the fold from and to
	err := ahead(func(put func(string) error) error {
		return packedRows(v.ctx, v.db, table, lineOfRow(table), v.report.Events, put)
	}, func(lines string) error {
		first := at
		for from += packChunk; at < rows.size(table) && rows.seq(s, table, at) < from; {
			at++
		}
		if !rows.written(s, table, first, at, lines) {
			doubtful = append(doubtful, [3]int64{from - packChunk, int64(first), int64(at)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range doubtful {
		if err := v.compareRows(table, d[0], rows.values(s, table, int(d[1]), int(d[2]))); err != nil {
			return err
		}
	}
	return v.db.Query(v.ctx, `SELECT count(*) FROM `+table+` WHERE seq IS NULL OR seq < 1 OR seq > ?`, []any{v.report.Events}, func(x []driver.Value) error {
		if n, _ := x[0].(int64); n > 0 {
			v.report.add(Finding{Table: table, Field: "rows", What: fmt.Sprintf("%d rows belong to no event", n)})
		}
		return nil
	})
}

// written reports whether lines are some rows as the fold gives them, in its
// order or in the one that older rebuilds left.
func (r *rowSet) written(s *state, table string, from, to int, lines string) bool {
	const part = 1024
	parts := make([][]byte, (to-from+part-1)/part)
	_ = spread(len(parts), func(n, end int) error {
		for ; n < end; n++ {
			for _, row := range r.values(s, table, from+n*part, min(from+(n+1)*part, to)) {
				parts[n] = appendLine(parts[n], row)
			}
		}
		return nil
	})
	rest, same := lines, true
	for _, p := range parts {
		if same = strings.HasPrefix(rest, string(p)); !same {
			break
		}
		rest = rest[len(p):]
	}
	if same && rest == "" {
		return true
	}
	if table != "members" {
		return false
	}
	again := &rowSet{members: slices.Clone(r.members[from:to])}
	sortMembers(s, again.members)
	var b []byte
	for _, row := range again.values(s, table, 0, to-from) {
		b = appendLine(b, row)
	}
	return string(b) == lines
}

// compareRows compares the rows of packChunk places, one with the other, and
// names what differs.
func (v *verification) compareRows(table string, from int64, want [][]driver.Value) error {
	var found []Finding
	sortRows(want)
	err := v.db.Query(v.ctx, `SELECT * FROM `+table+` WHERE seq >= ? AND seq < ? ORDER BY ALL NULLS FIRST`,
		[]any{from, min(from+packChunk, v.report.Events+1)}, func(x []driver.Value) error {
			seq, _ := x[0].(int64)
			for len(want) > 0 && want[0][0].(int64) < seq {
				found = append(found, Finding{Seq: want[0][0].(int64), Table: table, Field: "rows", What: "a row is missing"})
				want = want[1:]
			}
			if len(want) == 0 || want[0][0].(int64) > seq {
				found = append(found, Finding{Seq: seq, Table: table, Field: "rows", What: "a row too many, the fold gives none"})
				return nil
			}
			if field := firstDifference(x, want[0]); field >= 0 {
				found = append(found, Finding{Seq: seq, Table: table, Field: "row", What: fmt.Sprintf("column %d differs from the fold", field+1)})
			}
			want = want[1:]
			return nil
		})
	if err != nil {
		return err
	}
	for _, row := range want {
		found = append(found, Finding{Seq: row[0].(int64), Table: table, Field: "rows", What: "a row is missing"})
	}
	for _, f := range found {
		if len(v.report.Findings) < mostFindings {
			if e, err := readEvent(v.ctx, v.db, f.Seq); err == nil {
				f.Event = strings.Clone(e.id)
			}
		}
		v.report.add(f)
	}
	return nil
}
