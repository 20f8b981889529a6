package jurisdiction

import (
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Located is a detection in a stream: its offsets count from the start of the
// whole text.
type Located struct {
	Detection
	Byte   int64 // of the whole text
	Line   int   // from 1
	Column int   // code points, from 1
}

// DetectStream finds the personal data of a UTF-8 text of any size in bounded
// memory and calls each with every detection, by position. It returns the coverage block.
func DetectStream(ctx context.Context, r io.Reader, jurisdiction, statute, version string, each func(Located) error) (*Coverage, error) {
	plan, err := Plan(jurisdiction, statute, version)
	if err != nil {
		return nil, err
	}
	lines := lineIndex{line: 1, column: 1}
	err = EachWindow(ctx, r, func(w *Window) error {
		found, err := Detect(w.Text, jurisdiction, statute, version)
		if err != nil {
			return err
		}
		own := found.Detections[:0]
		to := w.To
		for _, d := range found.Detections {
			if d.Span.ByteStart >= w.From && d.Span.ByteStart < w.To {
				own = append(own, d)
				to = max(to, d.Span.ByteEnd)
			}
		}
		w.To = to
		slices.SortStableFunc(own, func(a, b Detection) int { return a.Start - b.Start })
		pos := w.From
		for _, d := range own {
			lines.advance(w.Text[pos:d.Span.ByteStart])
			pos = d.Span.ByteStart
			l := Located{Detection: d, Byte: w.Base + int64(pos), Line: lines.line, Column: lines.column}
			l.Start += int(w.Runes)
			l.End += int(w.Runes)
			if err := each(l); err != nil {
				return err
			}
		}
		lines.advance(w.Text[pos:w.To])
		return nil
	})
	return plan, err
}

// lineIndex is a place in a text that is walked forwards.
type lineIndex struct{ line, column int }

func (x *lineIndex) advance(s string) {
	if n := strings.Count(s, "\n"); n > 0 {
		x.line, x.column = x.line+n, 1
		s = s[strings.LastIndexByte(s, '\n')+1:]
	}
	x.column += utf8.RuneCountInString(s)
}

// InferStream is InferUnder for a UTF-8 text of any size.
func InferStream(ctx context.Context, r io.Reader, version string) (*Inference, error) {
	rules, err := needRules(version)
	if err != nil {
		return nil, err
	}
	total := make([]int, len(rules.signals))
	err = EachWindow(ctx, r, func(w *Window) error {
		counts, end := rules.count(w.Text, w.From, w.To)
		for k, n := range counts {
			total[k] += n
		}
		w.To = max(w.To, end)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rules.infer(total), nil
}
