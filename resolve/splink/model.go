package splink

import "math"

// Model is a trained (or loaded) Fellegi-Sunter model.
type Model struct {
	Lambda      float64 // probability that two random records match
	Comparisons []Comparison
	Rules       []Rule
	Dedupe      bool // one list against itself
}

// floorProbability keeps logarithms finite where a level was never seen.
const floorProbability = 1e-9

// weight is the level's evidence in bits, before frequency adjustment.
func (l Level) weight() float64 {
	if l.Null {
		return 0
	}
	return math.Log2(max(l.M, floorProbability)) - math.Log2(max(l.U, floorProbability))
}

// prior is the weight of a pair of which nothing is known.
func (m *Model) prior() float64 { return math.Log2(m.Lambda) - math.Log2(1-m.Lambda) }

// adjustment is what the frequency of the shared value adds: rare values say
// more than the level does on average. frequency is the greater of the two
// records' value frequencies.
func (l Level) adjustment(frequency float64) float64 {
	if l.TF == "" || l.TFWeight == 0 || frequency <= 0 {
		return 0
	}
	return l.TFWeight * (math.Log2(max(l.U, floorProbability)) - math.Log2(max(frequency, l.TFMinimum)))
}

// probability turns a weight into a probability.
func probability(weight float64) float64 {
	if weight > 0 {
		return 1 / (1 + math.Exp2(-weight))
	}
	x := math.Exp2(weight)
	return x / (1 + x)
}
