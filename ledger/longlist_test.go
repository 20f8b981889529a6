package ledger

import (
	"context"
	"strconv"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// A list longer than the cache of contents is read in parts, not a record at a
// time.
func TestReplayReadsLongListsInParts(t *testing.T) {
	ctx := context.Background()
	queries := 0
	l, err := Open("duckdb:///:memory:", Options{Fault: func(op string) error {
		if op == "query" {
			queries++
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := make([]*canon.Object, contentCacheMost/2+10)
	for i := range a {
		a[i] = canon.Obj("id", "a"+strconv.Itoa(i), "registration_id", "R"+strconv.Itoa(i))
	}
	b := []*canon.Object{canon.Obj("id", "b", "registration_id", "R1")}
	res, err := l.Compare(ctx, resolve.Request{A: a, B: b, Entity: "organisation", Threshold: 0.7, IDField: "id"})
	if err != nil || len(res.Edges) != 1 {
		t.Fatal(len(res.Edges), err)
	}
	l.cache.reset()
	queries = 0
	r, err := l.Replay(ctx, res.Edges[0].DecisionID)
	if err != nil || r.Value("reproduced") != true {
		t.Fatal(r, err)
	}
	if queries > 100 {
		t.Errorf("%d queries for %d records", queries, len(a))
	}
}
