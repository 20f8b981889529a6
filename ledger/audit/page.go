package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/export"
)

// rowsShown bounds the tables of the report; the lines have everything.
const rowsShown = 200

// page is the report.
func (s *Summary) page(o Options, link string) *export.Page {
	merges, splits := s.links.moved()
	p := &export.Page{
		Title: "Audit by replay",
		Lead:  s.lead(o),
		Facts: []export.Fact{
			{Name: "decisions made again", Value: fmt.Sprint(s.Total)},
			{Name: "reproduced, byte for byte", Value: fmt.Sprint(s.Reproduced), Tone: "good"},
			{Name: "differ", Value: fmt.Sprint(s.Differing), Tone: tone(s.Differing, "bad")},
			{Name: "can't be made again", Value: fmt.Sprint(s.Unreplayable), Tone: tone(s.Unreplayable, "open")},
			{Name: "left to a person's decision", Value: fmt.Sprint(s.Overruled)},
		},
		Footer: []string{o.Program, fmt.Sprintf("events %d to %d of the log, head %s", s.First, s.Last, link), scope(o)},
	}
	if s.Total < s.Population {
		p.Facts = append(p.Facts, export.Fact{Name: fmt.Sprintf("of all %d differ at most (95 %% confidence)", s.Population),
			Value: fmt.Sprintf("%.2f %%", 100*s.Bound()), Tone: "open"})
	}
	if o.Today {
		p.Facts = append(p.Facts, export.Fact{Name: "new matches today", Value: fmt.Sprint(s.Appearing), Tone: tone(s.Appearing, "open")})
		p.Sections = append(p.Sections,
			export.Part{Title: "Entities that would become one", Table: groups(merges)},
			export.Part{Title: "Entities that would fall apart", Table: groups(splits)})
	}
	p.Sections = append(p.Sections,
		export.Part{Title: "What moved", Text: "How many decisions each pin and factor moved in.", Chart: chart(s.Changes, "decisions")},
		export.Part{Title: "Verdicts that moved", Table: table("verdict", s.Verdicts)},
		export.Part{Title: "Why decisions can't be made again", Table: table("reason", s.Reasons)},
		s.worst(),
	)
	return p
}

func tone(n int64, bad string) string {
	if n == 0 {
		return "good"
	}
	return bad
}

func (s *Summary) lead(o Options) string {
	under := "under the packs and pins it was made under"
	if o.Today {
		under = "under today's packs and engine"
	}
	switch {
	case s.Total == 0:
		return "No decision fits what was asked for."
	case s.Clean():
		return "Every decision was made again " + under + " and came out the same."
	}
	return fmt.Sprintf("Each decision was made again %s; %d of %d did not come out the same.", under, s.Differing+s.Unreplayable, s.Total)
}

func scope(o Options) string {
	parts := []string{}
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("entity", o.Entity)
	add("verb", o.Verb)
	if o.Sample > 0 {
		add("sample of", fmt.Sprint(o.Sample))
	}
	if o.Today {
		parts = append(parts, "under today's packs and engine")
	}
	if len(parts) == 0 {
		return "all decisions"
	}
	return strings.Join(parts, ", ")
}

func chart(m map[string]int64, unit string) *export.Chart {
	if len(m) == 0 {
		return nil
	}
	names := byCount(m)
	names = names[:min(len(names), 30)]
	c := &export.Chart{Labels: names, Unit: unit, Series: []export.Series{{Name: unit, Tone: "bad", Values: make([]int64, len(names))}}}
	for i, n := range names {
		c.Series[0].Values[i] = m[n]
	}
	return c
}

func table(head string, m map[string]int64) *export.Grid {
	g := &export.Grid{Head: []string{head, "decisions"}}
	for _, n := range byCount(m) {
		g.Rows = append(g.Rows, []string{n, fmt.Sprint(m[n])})
	}
	return g
}

func groups(found [][]string) *export.Grid {
	g := &export.Grid{Head: []string{"entities and records"}}
	for _, names := range found[:min(len(found), rowsShown)] {
		g.Rows = append(g.Rows, []string{strings.Join(names, ", ")})
	}
	g.More = max(0, len(found)-rowsShown)
	return g
}

// worst lists the findings. What moved in every one of them alike, such as the
// pin of a new table, is said once, above them.
func (s *Summary) worst() export.Part {
	shown := s.Worst[:min(len(s.Worst), rowsShown)]
	everywhere := common(shown)
	g := &export.Grid{Head: []string{"decision", "then", "now", "what moved", "supersedes"}}
	for _, f := range shown {
		o := f.Line
		now := told(object(o, "now"))
		if r := text(o, "reason"); r != "" {
			now = r
		}
		own := slices.DeleteFunc(moves(object(o, "changed")), func(m string) bool { return slices.Contains(everywhere, m) })
		if len(own) == 0 && len(everywhere) > 0 {
			own = []string{"nothing else"}
		}
		g.Rows = append(g.Rows, []string{text(o, "decision_id"), told(object(o, "then")), now, strings.Join(own, "\n"), text(o, "supersedes")})
	}
	g.More = max(0, int(s.Differing+s.Unreplayable+s.Appearing)-len(g.Rows))
	part := export.Part{Title: "Decisions, worst first", Table: g}
	if len(everywhere) > 0 {
		part.Text = "Moved in every decision listed:\n" + strings.Join(everywhere, "\n")
	}
	return part
}

// common are the moves that all of several findings have.
func common(findings []*Finding) []string {
	if len(findings) < 2 {
		return nil
	}
	out := moves(object(findings[0].Line, "changed"))
	for _, f := range findings[1:] {
		own := moves(object(f.Line, "changed"))
		out = slices.DeleteFunc(out, func(m string) bool { return !slices.Contains(own, m) })
	}
	return out
}

// told is a verdict with its score.
func told(o *canon.Object) string {
	if o == nil {
		return "-"
	}
	return fmt.Sprintf("%s %.4f", text(o, "identity"), number(o, "score"))
}

// moves are the changes of a decision, one a line.
func moves(changed *canon.Object) []string {
	var out []string
	for name, v := range changed.All() {
		c, _ := v.(*canon.Object)
		out = append(out, fmt.Sprintf("%s: %s to %s", name, valueText(c.Value("then")), valueText(c.Value("now"))))
	}
	return out
}

func valueText(v any) string {
	if v == nil {
		return "absent"
	}
	return canon.Text(v)
}
