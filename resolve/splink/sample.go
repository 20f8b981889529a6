package splink

import (
	"math"

	"github.com/arche-ledger/arche/internal/canon"
)

// mix is a fixed scramble of 64 bits: it stands in for chance where a sample
// must be the same every time.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// sampleRows returns at most about costSampleRows row numbers of a list,
// ascending. Lists are often in the same order, so each side draws its own.
func sampleRows(rows int, side uint64) []int {
	out := make([]int, 0, min(rows, 2*costSampleRows))
	limit := uint64(math.MaxUint64)
	if rows > costSampleRows {
		limit = uint64(float64(math.MaxUint64) * (costSampleRows / float64(rows)))
	}
	for i := range rows {
		if mix(uint64(i)*2+side+1) <= limit {
			out = append(out, i)
		}
	}
	return out
}

// hashText is a hash that is never 0.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h) | 1
}

// gridHash is the key of rounded coordinates.
func gridHash(rec *canon.Object, c column, coarse bool) uint64 {
	lat, okLat := coordinate(rec, c.field).(float64)
	lon, okLon := coordinate(rec, c.lon).(float64)
	if !okLat || !okLon {
		return 0
	}
	scale := 100.0
	if coarse {
		scale = 10
	}
	return mix(uint64(int64(math.Round(lat*scale)))*1000003+uint64(int64(math.Round(lon*scale)))) | 1
}

// survey is a sample of both lists, cut into keys.
type survey struct {
	rows   [2]int        // of the lists
	values [2][][]uint64 // by side, key and sampled row; 0 where there is no key
	scale  float64       // pairs of the lists for each pair of the sample
	dedupe bool
}

// combined is the hash of several keys of a sampled row, 0 when one is missing.
func (s *survey) combined(side int, ids []int, row int) uint64 {
	h := uint64(0)
	for _, k := range ids {
		v := s.values[side][k][row]
		if v == 0 {
			return 0
		}
		h = mix(h*31 + v)
	}
	return h | 1
}

// matching counts the pairs of the sample whose keys are equal and present.
func (s *survey) matching(ids []int) int64 {
	counts := make(map[uint64]int64, len(s.values[0][0]))
	for row := range s.values[0][0] {
		if h := s.combined(0, ids, row); h != 0 {
			counts[h]++
		}
	}
	total := int64(0)
	if s.dedupe {
		for _, n := range counts {
			total += n * (n - 1) / 2
		}
		return total
	}
	for row := range s.values[1][0] {
		if h := s.combined(1, ids, row); h != 0 {
			total += counts[h]
		}
	}
	return total
}

// fresh lists the pairs of the sample with equal keys that are not proposed yet.
func (s *survey) fresh(ids []int, proposed map[[2]int32]bool) [][2]int32 {
	byHash := make(map[uint64][]int32)
	for row := range s.values[0][0] {
		if h := s.combined(0, ids, row); h != 0 {
			byHash[h] = append(byHash[h], int32(row))
		}
	}
	var out [][2]int32
	for row := range s.values[1][0] {
		h := s.combined(1, ids, row)
		if h == 0 {
			continue
		}
		for _, i := range byHash[h] {
			p := [2]int32{i, int32(row)}
			if s.dedupe && i >= p[1] || proposed[p] {
				continue
			}
			out = append(out, p)
		}
	}
	return out
}

// present counts the pairs of the sample that both have the keys.
func (s *survey) present(ids []int) float64 {
	var n [2]float64
	for side := range n {
		for row := range s.values[side][ids[0]] {
			if s.combined(side, ids, row) != 0 {
				n[side]++
			}
		}
	}
	if s.dedupe {
		return n[0] * (n[0] - 1) / 2
	}
	return n[0] * n[1]
}
