package documents

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

// Graph is the documents of a project that relations connect.
type Graph struct {
	Nodes []Node // by path
	Edges []Edge // in manifest order
}

// Node is a document at an end of a relation.
type Node struct {
	Path    string // below .archcore/
	Title   string
	Type    string
	Status  string
	Missing bool // the relation names it, the disk has it not
}

// Edge is one relation.
type Edge struct {
	Source, Target, Type string
}

// Graph returns the relations of a project and the documents at their ends;
// with a path only those of that document.
func (b *Base) Graph(ctx context.Context, p string) (*Graph, error) {
	v, err := b.see(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.loadingManifest(); err != nil {
		return nil, err
	}
	only := strings.TrimPrefix(p, basePrefix)
	docs := map[string]*document{}
	for _, d := range v.docs {
		if !d.source.global {
			docs[d.rel] = d
		}
	}
	g, nodes := &Graph{}, map[string]bool{}
	for _, t := range v.manifest.relations {
		if only != "" && t.Source != only && t.Target != only {
			continue
		}
		g.Edges = append(g.Edges, Edge(t))
		for _, end := range []string{t.Source, t.Target} {
			if nodes[end] {
				continue
			}
			nodes[end] = true
			n := Node{Path: valid(end), Missing: docs[end] == nil}
			if d := docs[end]; d != nil {
				n.Title, n.Type, n.Status = d.title, d.typ, d.status
			}
			g.Nodes = append(g.Nodes, n)
		}
	}
	slices.SortFunc(g.Nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return g, nil
}

// label is how a node is called on a picture.
func (n *Node) label() string {
	if n.Title != "" {
		return n.Title
	}
	return n.Path
}

var edgeColours = map[string]string{
	"related": "#6b7280", "implements": "#2563eb", "extends": "#0891b2", "depends_on": "#7c3aed",
	"supports": "#15803d", "contradicts": "#b91c1c", "supersedes": "#c2410c",
}

// DOT is the graph in the language of Graphviz.
func (g *Graph) DOT() string {
	var b strings.Builder
	b.WriteString("digraph documents {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for _, n := range g.Nodes {
		style := ""
		if n.Missing {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", dotQuote(n.Path), dotQuote(n.label()), style)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s -> %s [label=%s, color=%s];\n", dotQuote(valid(e.Source)), dotQuote(valid(e.Target)), dotQuote(e.Type), dotQuote(edgeColours[e.Type]))
	}
	b.WriteString("}\n")
	return b.String()
}

// dotQuote writes a text as a quoted DOT id. Line ends and other controls
// become spaces.
func dotQuote(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

//go:embed data/graph.html
var graphPage string

var graphTemplate = template.Must(template.New("graph").Parse(graphPage))

// Sizes of the picture, in pixels.
const (
	boxWidth, boxHeight = 220, 44
	columnWide, rowHigh = 320, 64
	margin              = 24
	labelRunes          = 30
)

type drawnNode struct {
	X, Y                   int
	Label, Sub, Tip, Style string
}

type drawnEdge struct {
	Path, Colour, Tip string
	LabelX, LabelY    int
	Label             string
}

// Page is the graph as one HTML file with an SVG picture in it. It loads
// nothing and runs nothing.
func (g *Graph) Page() (string, error) {
	at, width, height := g.place()
	var nodes []drawnNode
	for _, n := range g.Nodes {
		p := at[n.Path]
		style := "doc"
		if n.Missing {
			style = "gone"
		}
		sub := strings.TrimSpace(n.Type + "  " + n.Status)
		if n.Missing {
			sub = "not there"
		}
		nodes = append(nodes, drawnNode{p[0], p[1], shorten(n.label()), sub, n.Path, style})
	}
	var edges []drawnEdge
	for _, e := range g.Edges {
		edges = append(edges, draw(e, at[valid(e.Source)], at[valid(e.Target)]))
	}
	type kind struct{ Name, Colour string }
	var legend []kind
	for _, t := range vocabulary.Relations {
		legend = append(legend, kind{t, edgeColours[t]})
	}
	var b strings.Builder
	err := graphTemplate.Execute(&b, map[string]any{"Nodes": nodes, "Edges": edges, "Legend": legend,
		"Width": width, "Height": height, "BoxWidth": boxWidth, "BoxHeight": boxHeight})
	return b.String(), err
}

// draw makes the curve of a relation.
func draw(e Edge, from, to [2]int) drawnEdge {
	x1, y1 := from[0]+boxWidth, from[1]+boxHeight/2
	x2, y2 := to[0], to[1]+boxHeight/2
	bend := max(40, (x2-x1)/2)
	if from[0] >= to[0] { // backward, or within a column: around the right side
		x2 = to[0] + boxWidth
		bend = 70
		return drawnEdge{
			Path:   fmt.Sprintf("M%d,%d C%d,%d %d,%d %d,%d", x1, y1, x1+bend, y1, x2+bend, y2, x2, y2),
			Colour: edgeColours[e.Type], Tip: valid(e.Source) + " " + e.Type + " " + valid(e.Target),
			LabelX: max(x1, x2) + bend*3/4, LabelY: (y1 + y2) / 2, Label: e.Type,
		}
	}
	return drawnEdge{
		Path:   fmt.Sprintf("M%d,%d C%d,%d %d,%d %d,%d", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2),
		Colour: edgeColours[e.Type], Tip: valid(e.Source) + " " + e.Type + " " + valid(e.Target),
		LabelX: (x1 + x2) / 2, LabelY: (y1+y2)/2 - 4, Label: e.Type,
	}
}

// place lays the nodes out: a column for each step away from documents that
// nothing points at, within a column by path.
func (g *Graph) place() (at map[string][2]int, width, height int) {
	column := g.columns()
	order := slices.Clone(g.Nodes)
	slices.SortStableFunc(order, func(a, b Node) int { return cmp.Compare(column[a.Path], column[b.Path]) })
	at, rows := map[string][2]int{}, map[int]int{}
	for _, n := range order {
		c := column[n.Path]
		at[n.Path] = [2]int{margin + c*columnWide, margin + rows[c]*rowHigh}
		rows[c]++
		width = max(width, margin+c*columnWide+boxWidth+5*margin)
		height = max(height, margin+rows[c]*rowHigh+margin)
	}
	return at, max(width, boxWidth+2*margin), max(height, boxHeight+2*margin)
}

// columns gives each node its distance from the left. Relations that close a
// circle do not count.
func (g *Graph) columns() map[string]int {
	next := map[string][]string{}
	for _, e := range g.Edges {
		next[valid(e.Source)] = append(next[valid(e.Source)], valid(e.Target))
	}
	const fresh, open, done = 0, 1, 2
	state, out := map[string]int{}, map[string]int{}
	var order []string // reverse topological
	var visit func(string, int)
	visit = func(n string, depth int) {
		state[n] = open
		for _, m := range next[n] {
			if state[m] == fresh && depth < 10_000 {
				visit(m, depth+1)
			}
		}
		state[n] = done
		order = append(order, n)
	}
	for _, n := range g.Nodes {
		if state[n.Path] == fresh {
			visit(n.Path, 0)
		}
	}
	rank := map[string]int{}
	for i, n := range order {
		rank[n] = len(order) - i
	}
	for _, n := range slices.Backward(order) {
		for _, m := range next[n] {
			if rank[m] > rank[n] {
				out[m] = max(out[m], out[n]+1)
			}
		}
	}
	return out
}

func shorten(s string) string {
	r := []rune(s)
	if len(r) > labelRunes {
		return string(r[:labelRunes-1]) + "…"
	}
	return s
}

// Summary is the size of a graph in words.
func (g *Graph) Summary() string {
	return strconv.Itoa(len(g.Nodes)) + " documents, " + strconv.Itoa(len(g.Edges)) + " relations"
}
