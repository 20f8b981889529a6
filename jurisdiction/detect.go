package jurisdiction

import (
	"strings"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/canon"
)

// Detections is the answer of detect_pii: where personal data stands in a text
// and under which rule it falls. It never holds a value.
type Detections struct {
	Detections []Detection `json:"detections"`
	Count      int         `json:"count"`
	Coverage   *Coverage   `json:"coverage"`
}

// Detection is one stretch of personal data. Offsets count code points.
type Detection struct {
	Category   string      `json:"category"`
	Start      int         `json:"start"`
	End        int         `json:"end"`
	Confidence canon.Float `json:"confidence"`
	Citation   *string     `json:"citation"` // nil when no statute governs
	Tier       string      `json:"tier"`

	Span detect.Span `json:"-"` // with byte offsets
}

// Detect finds the personal data in a text under a jurisdiction and a named
// statute, both already under the ceiling. Detections of different packages
// may overlap. The error is a fault for a name that is no statute.
func Detect(doc, jurisdiction, statute, version string) (*Detections, error) {
	plan, err := Plan(jurisdiction, statute, version)
	if err != nil {
		return nil, err
	}
	_, s, _, err := resolve(jurisdiction, statute)
	if err != nil {
		return nil, err
	}
	spans, err := detect.Scan(doc, detect.Options{Jurisdiction: strings.ToUpper(jurisdiction)})
	if err != nil {
		return nil, err
	}
	out := &Detections{Detections: make([]Detection, len(spans)), Count: len(spans), Coverage: plan}
	for i, span := range spans {
		d := Detection{
			Category: span.Category, Start: span.Start, End: span.End,
			Confidence: canon.Float(span.Confidence), Tier: "moderate", Span: span,
		}
		if s != nil {
			p := s.Policy(span.Category)
			d.Citation, d.Tier = &p.Citation, p.Tier
		}
		out.Detections[i] = d
	}
	return out, nil
}
