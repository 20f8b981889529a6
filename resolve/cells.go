package resolve

import (
	"context"

	"github.com/uber/h3-go/v4"

	"github.com/arche-ledger/arche/internal/fault"
)

// cellResolutions are the sizes of hexagons that near points are looked for in:
// edges of about 1.4 and 3.7 km.
var cellResolutions = [2]int{7, 6}

// cells finds near points: the rows of B by hexagon, and for each row of A the
// hexagons that touch its own.
type cells struct {
	rowsB [2]map[h3.Cell][]int32
	ofA   [2][]h3.Cell // by row of A; 0 without a point
	disks [2]map[h3.Cell][]h3.Cell
}

func cellOf(p point, resolution int) h3.Cell {
	return h3.LatLngToCell(h3.NewLatLng(p.lat, p.lon), resolution)
}

func newCells(ctx context.Context, a, b *keyed) (*cells, error) {
	x := &cells{}
	for r, res := range cellResolutions {
		x.rowsB[r] = make(map[h3.Cell][]int32)
		x.disks[r] = make(map[h3.Cell][]h3.Cell)
		if a.coordless == a.n || b.coordless == b.n {
			continue
		}
		for row, p := range b.points {
			if row%ctxRows == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if p.usable {
				c := cellOf(p, res)
				x.rowsB[r][c] = append(x.rowsB[r][c], int32(row))
			}
		}
		x.ofA[r] = make([]h3.Cell, a.n)
		for row, p := range a.points {
			if row%ctxRows == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !p.usable {
				continue
			}
			c := cellOf(p, res)
			x.ofA[r][row] = c
			if _, ok := x.disks[r][c]; !ok {
				x.disks[r][c] = c.GridDisk(1)
			}
		}
	}
	return x, nil
}

// near calls yield with lists of rows of B near row i of A; lists can overlap.
func (x *cells) near(i int32, yield func(rows []int32)) {
	for r := range x.ofA {
		if x.ofA[r] == nil || x.ofA[r][i] == 0 {
			continue
		}
		for _, c := range x.disks[r][x.ofA[r][i]] {
			yield(x.rowsB[r][c])
		}
	}
}

// pairs is how many pairs the larger hexagons bring, which hold the smaller
// ones' nearly all.
func (x *cells) pairs() int64 {
	const larger = 1
	rowsA := make(map[h3.Cell]int64)
	for _, c := range x.ofA[larger] {
		rowsA[c]++
	}
	sum := int64(0)
	for c, n := range rowsA {
		for _, d := range x.disks[larger][c] {
			sum += n * int64(len(x.rowsB[larger][d]))
		}
	}
	return sum
}

// DefaultMaxBlocked is how many pairs keys without a bound may bring to a call
// with blocking: some half an hour on one processor.
const DefaultMaxBlocked = 2_000_000_000

// checkUnbounded refuses a call whose map cells and identifiers, which have no
// bound on pairs, would bring more pairs than anyone waits for.
func (k *blocker) checkUnbounded(limit int64) error {
	if limit == 0 {
		limit = DefaultMaxBlocked
	}
	ids := int64(0)
	if k.idFull == nil {
		for _, id := range k.a.ids.ids {
			ids += int64(len(k.idRows.at(id)))
		}
	}
	near := k.cells.pairs()
	if near+ids <= limit {
		return nil
	}
	return fault.New(fault.Limit, "near coordinates bring %d pairs and equal identifiers %d, more than the %d allowed", near, ids, limit).
		WithHint("many records seem to share one coordinate or identifier that is none: leave it out of them, split the lists, or raise the limit (--max-pairs of arche compare)")
}
