package splink

import (
	"math"
	"slices"
)

// vector is a comparison vector and how many pairs have it.
type vector struct {
	gamma []int8
	count float64
}

func sortVectors(vs []vector) {
	slices.SortFunc(vs, func(x, y vector) int { return slices.Compare(x.gamma, y.gamma) })
}

// Constants of training.
const (
	maxRounds   = 200
	convergence = 1e-7 // largest change of a probability in a round
	smoothing   = 0.5  // pseudo-pairs a level starts with
	startEqual  = 0.9  // first guess: matches agree fully this often
	startShare  = 0.5  // first guess: this share of the shorter list has a match
)

// population is what training knows of all pairs, candidates or not.
type population struct {
	pairs   float64     // pairs in all
	shorter float64     // rows of the shorter list
	random  [][]float64 // per comparison and gamma+1: random pairs, contaminated by the matches among them
	exact   []float64   // per comparison: pairs of equal values over pairs of present values; -1 unknown
}

// train estimates the model on the candidate pairs' vectors. Pairs that no rule
// proposes count as non-matches. The levels' probabilities among non-matches
// come from random pairs, from which the matches found so far are taken out
// after a first estimate: in small lists they are a good part of all agreements.
func (m *Model) train(vectors []vector, pop population) (rounds int, converged bool) {
	m.start(pop)
	m.setU(pop, nil, 0)
	for range 2 {
		var found [][]float64
		var matches float64
		rounds, converged, found, matches = m.maximise(vectors, pop)
		m.setU(pop, found, matches)
	}
	rounds2, converged2, _, _ := m.maximise(vectors, pop)
	return rounds + rounds2, converged && converged2
}

func (m *Model) start(pop population) {
	m.Lambda = startShare * pop.shorter / pop.pairs
	for _, c := range m.Comparisons {
		rest := 1.0
		for i := range c.Levels {
			if c.Levels[i].Null {
				continue
			}
			p := rest
			if i < len(c.Levels)-1 {
				p = rest * startEqual
			}
			c.Levels[i].M = p
			rest -= p
		}
	}
}

// setU derives the probabilities among non-matches. found are the expected
// matches by comparison and gamma+1, matches their sum.
func (m *Model) setU(pop population, found [][]float64, matches float64) {
	for n, c := range m.Comparisons {
		random := pop.random[n]
		total := 0.0
		for g := 1; g < len(random); g++ {
			total += random[g]
		}
		share := make([]float64, len(random))
		for g := 1; g < len(random); g++ {
			share[g] = (random[g] + smoothing) / (total + smoothing*float64(len(random)-1))
		}
		top := len(random) - 1
		if e := pop.exact[n]; e >= 0 && top > 0 {
			spread(share[1:], top-1, e)
		}
		if matches > 0 && matches < pop.pairs/2 {
			without(share[1:], found[n][1:], matches/pop.pairs)
		}
		for i := range c.Levels {
			if !c.Levels[i].Null {
				c.Levels[i].U = max(share[c.gamma(i)+1], floorProbability)
			}
		}
	}
}

// spread sets share[top] to p and scales the others to the rest.
func spread(share []float64, top int, p float64) {
	rest := 0.0
	for g, s := range share {
		if g != top {
			rest += s
		}
	}
	for g := range share {
		if g == top {
			share[g] = p
		} else if rest > 0 {
			share[g] *= (1 - p) / rest
		}
	}
}

// without takes the matches, a part of all pairs, out of the level shares.
func without(share, found []float64, part float64) {
	total := 0.0
	for _, f := range found {
		total += f
	}
	if total == 0 {
		return
	}
	sum := 0.0
	for g := range share {
		// At least a thousandth stays: the estimate of the matches is one too.
		share[g] = max(share[g]-part*found[g]/total, share[g]/1000)
		sum += share[g]
	}
	for g := range share {
		share[g] /= sum
	}
}

// maximise runs expectation-maximisation on m and lambda, u fixed.
func (m *Model) maximise(vectors []vector, pop population) (rounds int, converged bool, found [][]float64, matches float64) {
	found = make([][]float64, len(m.Comparisons))
	for n, c := range m.Comparisons {
		found[n] = make([]float64, len(c.Levels)+1)
	}
	for rounds < maxRounds && !converged {
		rounds++
		for n := range found {
			clear(found[n])
		}
		matches = m.expect(vectors, found)
		change := math.Abs(matches/pop.pairs - m.Lambda)
		m.Lambda = min(max(matches/pop.pairs, 1/(2*pop.pairs)), 0.5)
		for n, c := range m.Comparisons {
			total := 0.0
			for g := 1; g < len(found[n]); g++ {
				total += found[n][g]
			}
			levels := float64(len(c.Levels) - 1)
			for i := range c.Levels {
				if c.Levels[i].Null {
					continue
				}
				p := (found[n][c.gamma(i)+1] + smoothing) / (total + smoothing*levels)
				change = max(change, math.Abs(p-c.Levels[i].M))
				c.Levels[i].M = p
			}
		}
		// Less than half a match in all is none: there is nothing to learn from.
		converged = change < convergence || matches < 0.5
	}
	return rounds, converged, found, matches
}

// expect adds up the expected matches by comparison and gamma+1 and returns
// their number.
func (m *Model) expect(vectors []vector, found [][]float64) float64 {
	weights := m.weights()
	matches := 0.0
	prior := m.prior()
	for _, v := range vectors {
		w := prior
		for n, g := range v.gamma {
			w += weights[n][g+1]
		}
		expected := v.count * probability(w)
		matches += expected
		for n, g := range v.gamma {
			found[n][g+1] += expected
		}
	}
	return matches
}

// weights returns the level weights by comparison and gamma+1.
func (m *Model) weights() [][]float64 {
	out := make([][]float64, len(m.Comparisons))
	for n, c := range m.Comparisons {
		out[n] = make([]float64, len(c.Levels)+1)
		for i, l := range c.Levels {
			out[n][c.gamma(i)+1] = l.weight()
		}
	}
	return out
}
