package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/arche-ledger/arche/ledger/duck"
)

// One event can put a record into an entity and on into another. Both views of
// entities, and a rebuild, go by the last of its changes, whatever the names.
func TestTheLastChangeOfAnEventCounts(t *testing.T) {
	ctx := context.Background()
	for _, names := range [][2]string{{"ent_a", "ent_b"}, {"ent_b", "ent_a"}, {"ent_a", ""}} {
		l, err := Open("duckdb:///:memory:", Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := newState()
		typ := s.words.put("person")
		for n := range 2 {
			s.addRecord(&record{id: address{byte(n + 1)}, typ: typ})
		}
		rows := newRowSet()
		for n := range int32(2) {
			rows.members = append(rows.members, memberRow{seq: 7, entity: names[0], rec: n, typ: typ})
		}
		for n := range int32(2) {
			rows.members = append(rows.members, memberRow{seq: 7, entity: names[1], rec: n, typ: typ})
		}
		err = l.store.Use(ctx, func(db *duck.DB) error {
			if err := rows.insert(ctx, db, s); err != nil {
				return err
			}
			want := "[]"
			if names[1] != "" {
				want = fmt.Sprintf("[[%s [%s %s]]]", names[1], s.recordID(0), s.recordID(1))
			}
			for _, view := range []string{"entities", "v_entity"} {
				got := [][]driver.Value{}
				err := db.Query(ctx, `SELECT entity_id, records FROM `+view, nil, func(v []driver.Value) error {
					got = append(got, append([]driver.Value{}, v...))
					return nil
				})
				if err != nil {
					return err
				}
				if fmt.Sprint(got) != want {
					t.Errorf("%v: %s has %v, want %s", names, view, got, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
}
