package resolve

import (
	"math"

	"github.com/arche-ledger/arche/internal/canon"
)

const (
	earthRadiusKm = 6371.0088
	halfTurn      = math.Pi / 180
)

// point is a coordinate as a record gives it.
type point struct {
	lat, lon float64
	usable   bool
}

// readPoint converts both fields; a point is usable when both are there and
// read as numbers, finite or not.
func readPoint(rec *canon.Object, f geoFields) point {
	lat, okLat := asFloat(rec.Value(f.lat))
	lon, okLon := asFloat(rec.Value(f.lon))
	return point{lat, lon, okLat && okLon}
}

func (p point) finite() bool {
	return !math.IsNaN(p.lat) && !math.IsInf(p.lat, 0) && !math.IsNaN(p.lon) && !math.IsInf(p.lon, 0)
}

// distanceKm is the great-circle distance; a NaN counts as half the way round.
// ok is false when a coordinate is missing, no number or infinite.
func distanceKm(a, b point) (km float64, ok bool) {
	if !a.usable || !b.usable {
		return 0, false
	}
	for _, f := range [...]float64{a.lat, a.lon, b.lat, b.lon} {
		if math.IsInf(f, 0) {
			return 0, false
		}
	}
	pa, pb := a.lat*halfTurn, b.lat*halfTurn
	s1 := math.Sin((b.lat - a.lat) * halfTurn / 2)
	s2 := math.Sin((b.lon - a.lon) * halfTurn / 2)
	h := s1*s1 + math.Cos(pa)*math.Cos(pb)*s2*s2
	if !(h < 1) {
		h = 1
	}
	return 2 * earthRadiusKm * math.Asin(math.Sqrt(h)), true
}

// nearness falls from 1 with distance; a decay of zero or less wants the same
// point.
func nearness(km, decay float64) float64 {
	if decay <= 0 {
		if km == 0 {
			return 1
		}
		return 0
	}
	return math.Exp(-km / decay)
}

// doubt is how much of a disagreement about a boundary remains when the points
// lie km apart and the boundary is uncertain by boundary km.
func doubt(a, b point, boundary float64) float64 {
	km, ok := distanceKm(a, b)
	if !ok || boundary <= 0 || math.IsNaN(km) || math.IsInf(km, 0) || km < 0 {
		return 0
	}
	return max(0, 1-km/boundary)
}
