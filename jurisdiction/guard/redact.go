package guard

import (
	"context"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/packs"
)

// region is a stretch of text that is replaced as one: overlapping detections
// together. Offsets are bytes.
type region struct {
	start, end int
	category   string // of the widest detection
	canonical  string // of the widest detection, when it is the whole region
	action     string // the most severe of all
	policy     packs.Mapping

	width  int     // of the widest, in bytes
	repeat *repeat // of a value that was replaced before
}

// maxPasses bounds the passes over one text. Each takes something out, and
// only what a replacement brought together can need another one.
const maxPasses = 16

// redact takes out of a document what the detectors find, and what they found
// anywhere else, until nothing is left to find: so redacting the result again
// changes nothing. k is what is known of the text so far.
func (g *Guard) redact(ctx context.Context, d *document, k *known) error {
	for range maxPasses {
		if err := ctx.Err(); err != nil {
			return err
		}
		view := d.view()
		spans, err := g.scan(view, detect.Options{Jurisdiction: g.code})
		if err != nil {
			return err
		}
		regions := g.regions(spans)
		closeBrackets(view, regions)
		if d.replace(regions, func(r region, value string) (string, *Field) {
			return k.substitute(g, r, value)
		}) {
			continue
		}
		if !d.replace(k.regions(view), func(r region, _ string) (string, *Field) {
			field := r.repeat.field
			return r.repeat.literal, &field
		}) {
			return nil
		}
	}
	return fault.New(fault.Internal, "redaction did not come to rest")
}

// regions merges detections that overlap; those that only touch stay apart.
func (g *Guard) regions(spans []detect.Span) []region {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b detect.Span) int {
		if a.ByteStart != b.ByteStart {
			return a.ByteStart - b.ByteStart
		}
		return b.ByteEnd - a.ByteEnd
	})
	var out []region
	for _, s := range spans {
		policy := g.statute.Policy(s.Category)
		if n := len(out); n > 0 && s.ByteStart < out[n-1].end {
			r := &out[n-1]
			r.end = max(r.end, s.ByteEnd)
			if packs.ActionSeverity[policy.Action] > packs.ActionSeverity[r.action] {
				r.action = policy.Action
			}
			if w := s.ByteEnd - s.ByteStart; w > r.width {
				r.width, r.category, r.policy, r.canonical = w, s.Category, policy, s.Canonical
			}
			continue
		}
		out = append(out, region{
			start: s.ByteStart, end: s.ByteEnd, width: s.ByteEnd - s.ByteStart,
			category: s.Category, canonical: s.Canonical, action: policy.Action, policy: policy,
		})
	}
	return out
}

// closeBrackets takes in the other half of a bracket that a region cuts: half a
// pair left behind spoils the text and tells how the value was written.
func closeBrackets(view string, regions []region) {
	for i := range regions {
		r := &regions[i]
		value := view[r.start:r.end]
		open := strings.Count(value, "(") - strings.Count(value, ")")
		free := 0 // where the region before ends
		if i > 0 {
			free = regions[i-1].end
		}
		switch {
		case open < 0 && r.start > free && view[r.start-1] == '(':
			r.start--
			r.width++
		case open > 0 && r.end < len(view) && view[r.end] == ')' && (i+1 == len(regions) || regions[i+1].start > r.end):
			r.end++
			r.width++
		}
	}
}

// substitute makes the placeholder of a value, "" for one that is dropped.
func (g *Guard) substitute(r region, value string) (string, *Field) {
	f := &Field{Category: r.category, Action: r.action, Citation: r.policy.Citation, Tier: r.policy.Tier}
	if r.action == "drop" {
		return "", f
	}
	canonical := r.canonical
	if r.width != r.end-r.start || len(value) != r.width {
		canonical = ""
	}
	token := g.tokens.token(r.category, value, canonical)
	f.Token = &token
	return placeholder(r.category, token), f
}
