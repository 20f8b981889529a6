package documents_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestGraphForms: pictures of relations that go in a circle, of long titles, and
// of names that have to be written with care.
func TestGraphForms(t *testing.T) {
	g := &documents.Graph{
		Nodes: []documents.Node{{Path: "a.adr.md", Title: "tab\there \"q\" \\", Type: "adr", Status: "draft"}, {Path: "b.adr.md", Title: strings.Repeat("\u00e9", 31)}, {Path: "c.adr.md", Title: strings.Repeat("\u00e9", 30)}, {Path: "d.adr.md", Missing: true}},
		Edges: []documents.Edge{{"a.adr.md", "b.adr.md", "related"}, {"b.adr.md", "c.adr.md", "extends"}, {"c.adr.md", "a.adr.md", "supports"}, {"a.adr.md", "d.adr.md", "implements"}},
	}
	dot := g.DOT()
	for _, want := range []string{`"a.adr.md" [label="tab here \"q\" \\"];`, `"d.adr.md" [label="d.adr.md", style=dashed];`, `"c.adr.md" -> "a.adr.md" [label="supports", color="#15803d"];`} {
		if !strings.Contains(dot, want) {
			t.Errorf("DOT holds no %s\n%s", want, dot)
		}
	}
	page, err := g.Page()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		strings.Repeat("\u00e9", 29) + "…", strings.Repeat("\u00e9", 30), "adr  draft", "not there",
		"M244,46 C294,46 294,46 344,46", // a to b, one column on
		"M884,46 C954,46 314,46 244,46", // c back to a, around the right side
		"M244,46 C294,46 294,110 344,110",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page holds no %s", want)
		}
	}
	if g.Summary() != "4 documents, 4 relations" {
		t.Error(g.Summary())
	}
}

// TestGraphAndRelationsOfOne: with a path only what touches it.
func TestGraphAndRelationsOfOne(t *testing.T) {
	b := open(t, nested(t))
	for p, want := range map[string][]string{
		"":                     {"x/a.adr.md>top.adr.md", "top.adr.md>x/b.rule.md", "gone.adr.md>x/a.adr.md"},
		".archcore/top.adr.md": {"top.adr.md>x/b.rule.md", "x/a.adr.md>top.adr.md"}, "x/a.adr.md": {"x/a.adr.md>top.adr.md", "gone.adr.md>x/a.adr.md"}, "x/y/c.guide.md": nil,
	} {
		answer, err := b.Relations(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range answer.Value("relations").([]any) {
			o := r.(*canon.Object)
			got = append(got, fmt.Sprintf("%v>%v", o.Value("source"), o.Value("target")))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
		g, err := b.Graph(t.Context(), p)
		if err != nil || len(g.Edges) != len(want) {
			t.Errorf("%s: %+v, %v", p, g, err)
		}
	}
	g, err := b.Graph(t.Context(), "x/a.adr.md")
	want := []documents.Node{{Path: "gone.adr.md", Missing: true}, {Path: "top.adr.md", Title: "Top", Type: "adr", Status: "accepted"}, {Path: "x/a.adr.md", Title: "Alpha", Type: "adr", Status: "accepted"}}
	if err != nil || cmp.Diff(want, g.Nodes) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(want, g.Nodes))
	}
}

// TestForeignKeysOfRelations: what others keep in the manifest stays when a
// relation comes or goes, with its place and its text.
func TestForeignKeysOfRelations(t *testing.T) {
	root := project(t, linkedFiles())
	hash := strings.Repeat("0123456789abcdef", 4)
	put(t, root, ".sync-state.json", `{"relations":[{"type":"related","note":{"by":"é\t\"x\"","n":1.50},"target":"b.adr.md","source":"a.adr.md"},`+
		`{"source":"c.adr.md","target":"a.adr.md","type":"extends"}],"files":{"z.md":"`+hash+`","é.md":"`+hash+`","a.md":"`+hash+`"},"version":1}`)
	b := open(t, root)
	if err := everyWrite["relate"](t.Context(), b); err != nil {
		t.Fatal(err)
	}
	const first = "    {\n      \"source\": \"a.adr.md\",\n      \"target\": \"b.adr.md\",\n      \"type\": \"related\",\n      \"note\": {\"by\":\"é\\t\\\"x\\\"\",\"n\":1.50}\n    }"
	const rest = "    {\n      \"source\": \"b.adr.md\",\n      \"target\": \"c.adr.md\",\n      \"type\": \"supports\"\n    }\n  ]\n}\n"
	files := "{\n  \"version\": 1,\n  \"files\": {\n    \"a.md\": \"" + hash + "\",\n    \"z.md\": \"" + hash + "\",\n    \"é.md\": \"" + hash + "\"\n  }"
	want := files + ",\n  \"relations\": [\n" + first + ",\n    {\n      \"source\": \"c.adr.md\",\n      \"target\": \"a.adr.md\",\n      \"type\": \"extends\"\n    },\n" + rest
	if diff := cmp.Diff(want, slurp(t, root, ".sync-state.json")); diff != "" {
		t.Error(diff)
	}
	if _, err := b.RemoveRelation(t.Context(), documents.RelationRequest{Source: "c.adr.md", Target: "a.adr.md", Type: "extends"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files+",\n  \"relations\": [\n"+first+",\n"+rest, slurp(t, root, ".sync-state.json")); diff != "" {
		t.Error(diff)
	}
	for _, r := range []documents.RelationRequest{{Source: "a.adr.md", Target: "b.adr.md", Type: "related"}, {Source: "b.adr.md", Target: "c.adr.md", Type: "supports"}} {
		if answer, err := b.RemoveRelation(t.Context(), r); err != nil || answer.Value("removed") != true {
			t.Fatalf("%v, %v", answer, err)
		}
	}
	if diff := cmp.Diff(files+"\n}\n", slurp(t, root, ".sync-state.json")); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"{\n  \"version\": 1,\n  \"files\": {\n    \"a.md\": \"" + hash + "\"\n  }\n}\n", "{\n  \"version\": 1,\n  \"files\": {}\n}\n"} {
		if again, n, err := documents.Manifest([]byte(text)); err != nil || n != 0 || string(again) != text {
			t.Errorf("%s was written as %s (%v)", text, again, err)
		}
	}
}
