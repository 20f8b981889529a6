package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChainsOverVersions: where no chain of decisions alone exists, versions are
// crossed, and a cheaper way that is found later counts.
func TestChainsOverVersions(t *testing.T) {
	s := newState()
	for n := range 5 {
		s.addRecord(&record{id: address{byte(n + 1)}, ent: 0, first: 1})
	}
	s.ents = []entity{{id: "ent_x"}}
	const y, newerY, x, newerX, z = 0, 1, 2, 3, 4
	decide := func(a, b int32, score float64) int32 {
		i := int32(len(s.decs))
		s.decs = append(s.decs, decision{a: a, b: b, score: score, link: true, replaced: -1, replaces: -1, run: -1, nextPub: -1})
		s.recs[a].decs = append(s.recs[a].decs, i)
		s.recs[b].decs = append(s.recs[b].decs, i)
		return i
	}
	version := func(a, b int32) {
		s.versions[a] = append(s.versions[a], b)
		s.versions[b] = append(s.versions[b], a)
	}
	dear := decide(y, x, 0) // found first, and dearer than by way of the newer version
	cheap := decide(newerY, x, 1)
	last := decide(newerX, z, 1)
	version(y, newerY)
	version(x, newerX)
	for _, q := range []struct {
		from, to int32
		want     []int32
	}{
		{z, y, []int32{last, cheap}}, {y, z, []int32{cheap, last}}, {y, newerY, []int32{dear, cheap}}, {x, newerY, []int32{cheap}}, {y, y, nil},
	} {
		steps, same := s.chainBetween(q.from, q.to)
		if diff := cmp.Diff(q.want, steps); diff != "" || !same {
			t.Errorf("%d to %d: same %v (-want +got)\n%s", q.from, q.to, same, diff)
		}
	}
	s.recs[z].ent = -1
	if steps, same := s.chainBetween(y, z); same || steps != nil {
		t.Errorf("of another entity: %v %v", steps, same)
	}
}
