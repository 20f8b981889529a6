package export

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
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

// Grid is a table; cells are text, a line break in one is shown. More says how
// many rows were left out.
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

// Series is one stripe of every bar. Tone colours it as in Fact; "" is a colour
// that says neither good nor bad.
type Series struct {
	Name   string
	Tone   string
	Values []int64 // one a label
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"svg": drawing, "cells": gridCells}).Parse(pageText))

// WriteHTML writes the page.
func WriteHTML(w io.Writer, p *Page) error {
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// Charts are drawn in pixels down and in per cent across: text keeps its size on
// a phone, and a label stands above its bar, however long it is.
const (
	rowHeight   = 40
	labelLine   = 13 // baseline of the label
	barTop      = 19
	barHeight   = 13
	numberLine  = barTop + barHeight - 2
	longestBar  = 84 // per cent; the rest is room for the number
	leastStripe = 0.4
)

type drawn struct {
	Height int
	Bars   []bar
	Legend []swatch // none when there is one series and the title says what it is
	Unit   string
}

type bar struct {
	Label         string
	LabelY, TextY int
	End           string // where the number stands
	Total         int64
	Stripes       []stripe
}

type stripe struct {
	X, Width    string // per cent
	Y, Height   int
	Class, Fill string
	Title       string
}

type swatch struct{ Name, Class string }

// fills are the tones for readers that apply no style sheet to drawings.
var fills = map[string]string{"good": "#2a7e3b", "open": "#b7791f", "bad": "#c0362c",
	"c0": "#4a6fa5", "c1": "#7b5ea7", "c2": "#2f8f9d", "c3": "#a8577e", "c4": "#6b8e23", "c5": "#8c6d46", "c6": "#5c6bc0", "c7": "#78909c"}

// toneOf is the tone of the n-th series: its own, or the next colour that says
// nothing about good or bad.
func toneOf(s *Series, n int) string {
	if s.Tone != "" {
		return s.Tone
	}
	return fmt.Sprintf("c%d", n%8)
}

// drawing lays the bars out; the longest fills the width.
func drawing(c *Chart) drawn {
	d := drawn{Unit: c.Unit, Height: max(1, len(c.Labels)*rowHeight)}
	if len(c.Series) > 1 || len(c.Series) == 1 && c.Series[0].Name != c.Unit {
		for n := range c.Series {
			d.Legend = append(d.Legend, swatch{c.Series[n].Name, "t" + toneOf(&c.Series[n], n)})
		}
	}
	var most int64 = 1
	totals := make([]int64, len(c.Labels))
	for i := range c.Labels {
		for _, s := range c.Series {
			totals[i] += s.Values[i]
		}
		most = max(most, totals[i])
	}
	for i, label := range c.Labels {
		top := i * rowHeight
		b := bar{Label: label, LabelY: top + labelLine, TextY: top + numberLine, Total: totals[i]}
		x, before := 0.0, int64(0)
		for n := range c.Series {
			s := &c.Series[n]
			if s.Values[i] == 0 {
				continue
			}
			before += s.Values[i]
			width := max(leastStripe, longestBar*float64(before)/float64(most)-x)
			tone := toneOf(s, n)
			b.Stripes = append(b.Stripes, stripe{percent(x), percent(width), top + barTop, barHeight, "t" + tone, fills[tone],
				fmt.Sprintf("%s: %d", s.Name, s.Values[i])})
			x += width
		}
		b.End = percent(x)
		d.Bars = append(d.Bars, b)
	}
	return d
}

func percent(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "%" }

// isLong reports whether a cell holds something that may break anywhere, such
// as an address; words break between words.
func isLong(cell string) bool {
	for word := range strings.FieldsSeq(cell) {
		if len(word) > 24 {
			return true
		}
	}
	return false
}

// gridCell is a cell of a table with its column's name, which stands before it
// where the table is too wide for the screen.
type gridCell struct{ Name, Text, Class string }

func gridCells(head, row []string) []gridCell {
	out := make([]gridCell, len(row))
	for i, text := range row {
		out[i] = gridCell{Name: head[i], Text: text}
		if isLong(text) {
			out[i].Class = "id"
		}
	}
	return out
}
