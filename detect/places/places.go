// Package places finds the places a text mentions and the role each has in it:
// where something starts, where it goes, what it passes, where it is.
//
// Call [Extract]. A place is a parsed address, a known city, a landmark, or a
// capitalised phrase that a cue ("deliver to") licenses. Its role comes from
// the cues around it; where they are absent or disagree the role is unknown,
// never a guess. The answer holds offsets in code points and names of address
// components, never a piece of the text but the cue, which is a phrase of the
// pack. Extract is pure, takes time linear in the text, and is safe for
// concurrent use.
package places

import (
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/packs"
)

// Answer is the answer of extract_places.
type Answer struct {
	Places               []Place `json:"places"` // by position, apart
	Count                int     `json:"count"`
	Pack                 string  `json:"pack"` // pin of the role cues
	OffsetsMatchOriginal bool    `json:"offsets_match_original"`
}

// Place is one mention.
type Place struct {
	Role                   string      `json:"role"` // origin, destination, location, via or unknown
	Start                  int         `json:"start"`
	End                    int         `json:"end"`
	Cue                    *string     `json:"cue"` // phrase of the pack, lower case
	CueStart               *int        `json:"cue_start"`
	CueEnd                 *int        `json:"cue_end"`
	CueRule                *string     `json:"cue_rule"`
	Confidence             canon.Float `json:"confidence"`
	Evidence               []string    `json:"evidence"`
	Jurisdiction           string      `json:"jurisdiction"` // XX when nothing tells it
	JurisdictionConfidence canon.Float `json:"jurisdiction_confidence"`
	HasAddress             bool        `json:"has_address"`
	ComponentsPresent      []string    `json:"components_present"` // sorted
}

// Extract finds the places in a text.
func Extract(doc string) *Answer {
	out := &Answer{Places: []Place{}, Pack: packs.LoadPlaceRoles().Pin, OffsetsMatchOriginal: true}
	t := newText(doc)
	if t.blank() {
		return out
	}
	spans := t.spans()
	cues, spans := t.cues(spans)
	spans = t.license(cues, spans)
	spans, bindings := t.bind(cues, spans)
	for k, s := range spans {
		out.Places = append(out.Places, t.place(s, bindings[k]))
	}
	out.Count = len(out.Places)
	return out
}
