package export

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

// Page is a report as one self-contained HTML file: no script, no request, fit
// for print and for a phone.
type Page struct {
	Title    string
	Lead     string   // one sentence that answers the question of the page
	Facts    []Fact   // what was looked at
	Sections []Part   // in order
	Footer   []string // lines: program, head of the log, filter
}

// Fact is a number or word with its name. Tone is "", "good", "open" or "bad".
type Fact struct{ Name, Value, Tone string }

// Part is a section of a page. Every piece is optional.
type Part struct {
	Title string
	Text  string
	Chart *Chart
	Table *Grid
}

// Grid is a table; cells are text. More says how many rows were left out.
type Grid struct {
	Head []string
	Rows [][]string
	More int
}

// Chart is a stacked bar chart: one bar a label, one stripe a series.
type Chart struct {
	Labels []string
	Series []Series
	Unit   string // what is counted
}

// Series is one stripe of every bar. Tone colours it as in Fact.
type Series struct {
	Name   string
	Tone   string
	Values []int64 // one a label
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"svg": drawing}).Parse(pageText))

// WriteHTML writes the page.
func WriteHTML(w io.Writer, p *Page) error {
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// bar geometry, in the units of the drawing's view box.
const (
	chartWidth  = 480
	labelWidth  = 120
	numberWidth = 60
	barHeight   = 18
	barGap      = 8
)

type drawn struct {
	Width, Height int
	Bars          []bar
	Legend        []Series
	Unit          string
}

type bar struct {
	Label          string
	Y, TextY, EndX int
	Total          int64
	Stripes        []stripe
}

type stripe struct {
	X, Y, Width, Height int
	Tone, Fill, Title   string
}

// fills are the tones for readers that apply no style sheet to drawings.
var fills = map[string]string{"": "#4a6fa5", "good": "#2a7e3b", "open": "#b7791f", "bad": "#c0362c"}

// drawing lays the bars out; the longest fills the width.
func drawing(c *Chart) drawn {
	d := drawn{Width: chartWidth, Legend: c.Series, Unit: c.Unit}
	var most int64 = 1
	totals := make([]int64, len(c.Labels))
	for i := range c.Labels {
		for _, s := range c.Series {
			totals[i] += s.Values[i]
		}
		most = max(most, totals[i])
	}
	room := int64(chartWidth - labelWidth - numberWidth)
	for i, label := range c.Labels {
		y := i * (barHeight + barGap)
		b := bar{Label: label, Y: y, TextY: y + barHeight - 5, Total: totals[i]}
		x, before := labelWidth, int64(0)
		for _, s := range c.Series {
			if s.Values[i] == 0 {
				continue
			}
			end := labelWidth + int((before+s.Values[i])*room/most)
			width := max(1, end-x)
			b.Stripes = append(b.Stripes, stripe{x, y, width, barHeight, s.Tone, fills[s.Tone], fmt.Sprintf("%s: %d", s.Name, s.Values[i])})
			x, before = x+width, before+s.Values[i]
		}
		b.EndX = x + 6
		d.Bars = append(d.Bars, b)
	}
	d.Height = max(1, len(c.Labels)*(barHeight+barGap))
	return d
}
