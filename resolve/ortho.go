package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/packs"
)

// spellingKey is one key of the spelling rules and the tokens that give it.
type spellingKey struct {
	key     string
	sources []string
}

// spellingKeys reads the tokens of a name, in order, as keys of one language's
// spelling: each token, and each two neighbours where word boundaries are not
// kept apart.
func spellingKeys(rules *packs.Orthography, list []string) []spellingKey {
	var out []spellingKey
	at := make(map[string]int)
	note := func(key string, sources ...string) {
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, spellingKey{key: key})
		}
		for _, s := range sources {
			if !slices.Contains(out[i].sources, s) {
				out[i].sources = append(out[i].sources, s)
			}
		}
	}
	for i, t := range list {
		note(rewriteToken(rules, t), t)
		if rules.CollapseBoundaries && i+1 < len(list) {
			note(rewriteToken(rules, t+list[i+1]), t, list[i+1])
		}
	}
	return out
}

// rewriteToken applies the canonical spellings, then the rewrites in order. The
// one rewrite there is turns n before b or p into m.
func rewriteToken(rules *packs.Orthography, t string) string {
	if c, ok := rules.Canonical[t]; ok {
		t = c
	}
	for _, r := range rules.Rewrites {
		if r.Pattern != "n(?=[bp])" {
			continue
		}
		var b strings.Builder
		for i := range len(t) {
			if t[i] == 'n' && i+1 < len(t) && (t[i+1] == 'b' || t[i+1] == 'p') {
				b.WriteString(r.Replace)
			} else {
				b.WriteByte(t[i])
			}
		}
		t = b.String()
	}
	return t
}

// keyedTokens is the weighted overlap of two names by their spelling keys.
func (s *store) keyedTokens(c *column, ra, rb int32) float64 {
	a, b := c.spelled[ra], c.spelled[rb]
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	merged := make(map[string]*mergedKey)
	for side, list := range [...][]spellingKey{a, b} {
		for _, k := range list {
			m := merged[k.key]
			if m == nil {
				m = &mergedKey{}
				merged[k.key] = m
			}
			m.sides |= 1 << side
			for _, src := range k.sources {
				if !slices.Contains(m.sources, src) {
					m.sources = append(m.sources, src)
				}
			}
		}
	}
	shared, all := 0.0, 0.0
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		m := merged[key]
		if s.redundant(c, key, m, ra, rb) {
			continue
		}
		d := s.leastRarity(m.sources)
		all += d
		if m.sides == 3 {
			shared += d
		}
	}
	if all == 0 {
		return 0
	}
	return shared / all
}

type mergedKey struct {
	sides   uint8
	sources []string
}

// redundant reports whether a key of several words says nothing that its words,
// which both names have, do not say already.
func (s *store) redundant(c *column, key string, m *mergedKey, ra, rb int32) bool {
	if len(m.sources) < 2 || slices.Contains(m.sources, key) {
		return false
	}
	for _, src := range m.sources {
		id, _ := s.toks.find(src)
		if !containsID(c.plain.at(ra), id) || !containsID(c.plain.at(rb), id) {
			return false
		}
	}
	return true
}

func (s *store) leastRarity(sources []string) float64 {
	least := 1.0
	for _, src := range sources {
		id, _ := s.toks.find(src)
		least = min(least, s.toks.rarity[id])
	}
	return least
}
