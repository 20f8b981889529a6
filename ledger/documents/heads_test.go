package documents_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestHeadsOfAllForms takes documents apart whose metadata block is not of the
// plain form.
func TestHeadsOfAllForms(t *testing.T) {
	type head struct {
		Title, Status string
		Tags          []string
		Body          string
		Broken        bool
	}
	for text, want := range map[string]head{
		"---\ntitle: A\n---":                                     {Title: "A"},
		"---\r\ntitle: A\r\n---":                                 {Title: "A"},
		"---\n---":                                               {Body: "---\n---"},
		"---\ntitle: A\n--- ":                                    {Body: "---\ntitle: A\n--- "},
		"\uFEFF---\ntitle: open\n":                               {Body: "---\ntitle: open\n"},
		"\uFEFF---\ntitle: A\n---\n\nx":                          {Title: "A", Body: "x"},
		"\uFEFFplain":                                            {Body: "plain"},
		"---\n\n---\n\nx\n":                                      {Body: "x\n"},
		"---\n \t\n---\nx\n":                                     {Body: "x\n"},
		"---\n# nothing but a word\n---\nx\n":                    {Body: "x\n"},
		"---\nnull\n---\nx\n":                                    {Body: "x\n"},
		"---\n- a\n- b\n---\nx\n":                                {Body: "x\n", Broken: true},
		"---\njust text\n---\nx\n":                               {Body: "x\n", Broken: true},
		"---\ntitle: [\n---\nx\n":                                {Body: "x\n", Broken: true},
		"---\ntitle: A\nstatus: [x]\n---\nx\n":                   {Title: "A", Body: "x\n", Broken: true},
		"---\nstatus: draft\ntitle: \"A\"\n---\nx\n":             {Title: "A", Status: "draft", Body: "x\n"},
		"---\ntitle: \"A\"\ntitle: \"B\"\n---\nx\n":              {Body: "x\n", Broken: true},
		"---\ntitle: \"a\\\"b\"\n---\nx\n":                       {Title: "a\"b", Body: "x\n"},
		"---\ntitle: \"A\"\ntags:\n  - \"x\"\n---\r\n\r\nx\r\n":  {Title: "A", Tags: []string{"x"}, Body: "x\n"},
		"---\ntitle: \"A\"\ntags:\n  - \"x\"\nowner: me\n---\nx": {Title: "A", Tags: []string{"x"}, Body: "x"},
		"---\ntitle: \"\u0085\"\nstatus: draft\n---\nx":          {Title: " ", Status: "draft", Body: "x"},
	} {
		var got head
		var err error
		got.Title, got.Status, got.Tags, got.Body, err = documents.Head(text)
		got.Broken = err != nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

// TestUpdatesKeepWhatIsNotOurs: foreign keys and comments stay where they can,
// and an update that cannot keep them is refused.
func TestUpdatesKeepWhatIsNotOurs(t *testing.T) {
	none, one := []string{}, []string{"x"}
	for _, c := range []struct {
		old  string
		req  documents.UpdateRequest
		want string // "" when it is refused
	}{
		{"---\n# who\n\nowner: x\ntitle: A\n---\n\nB\n", documents.UpdateRequest{Title: "T"}, "---\ntitle: \"T\"\nstatus: \n# who\nowner: x\n---\n\nB\n"},
		{"---\n# who\n\n# why\nowner: x # because\nn: 1\n---\n\nB\n", documents.UpdateRequest{Status: "draft"}, "---\ntitle: \"\"\nstatus: draft\n# who\n# why\nowner: x # because\nn: 1\n---\n\nB\n"},
		{"---\ntitle: A\n# after\n\nstatus: draft\n---\n\nB\n", documents.UpdateRequest{Title: "T"}, "---\ntitle: \"T\"\nstatus: draft\n# after\n---\n\nB\n"},
		{"---\n# top\n\ntitle: A\nstatus: draft\n\n# foot\n---\n\nB\n", documents.UpdateRequest{Title: "T"}, "---\ntitle: \"T\"\nstatus: draft\n# top\n# foot\n---\n\nB\n"},
		{"---\n<<: {tags: [a]}\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Tags: &none}, "---\ntitle: \"B\"\nstatus: draft\ntags: []\n<<: {tags: [a]}\n---\n\nx"},
		{"---\ntitle: B\nstatus: draft\ntags: [a]\n---\nx", documents.UpdateRequest{Tags: &none}, "---\ntitle: \"B\"\nstatus: draft\n---\n\nx"},
		{"---\ntitle: B\nstatus: draft\ntags: [a, b]\n---\nx", documents.UpdateRequest{Tags: &one}, "---\ntitle: \"B\"\nstatus: draft\ntags:\n  - \"x\"\n---\n\nx"},
		{"---\ntitle: &a B\nother: *a\n---\nx", documents.UpdateRequest{Status: "draft"}, ""},
		{"---\ntitle: [\n---\nx", documents.UpdateRequest{Status: "draft"}, ""},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Title: "\xff"}, ""},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: "---\ntitle: other\n---\n\nnew\n"}, "---\ntitle: \"B\"\nstatus: draft\n---\n\nnew\n"},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: "\uFEFF---\ntitle: other\n---\n\nnew\n"}, "---\ntitle: \"B\"\nstatus: draft\n---\n\n\uFEFF---\ntitle: other\n---\n\nnew\n"},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: "no head\r\n"}, "---\ntitle: \"B\"\nstatus: draft\n---\n\nno head\r\n"},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: strings.Repeat("x", 16<<20)}, ""},
	} {
		got, err := documents.Apply(c.old, c.req)
		if c.want == "" && (fault.As(err) == nil || !strings.Contains(err.Error(), "x.md") && !fault.Is(err, fault.Limit)) || c.want != "" && err != nil {
			t.Errorf("%.80q: %v", c.old, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.old, diff)
		}
	}
}

// TestPanicsOfTheReaderAreErrors: what the YAML reader has no error for ends no
// server.
func TestPanicsOfTheReaderAreErrors(t *testing.T) {
	if err := documents.Guarded(func() error { panic("odd") }); err == nil || err.Error() != "metadata block: odd" {
		t.Errorf("%v", err)
	}
	want := errors.New("own")
	if err := documents.Guarded(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

// TestExcerpts: cut at the bounds of characters, dots where something is left
// out, white space collapsed, for text whose lowering keeps its length or not.
func TestExcerpts(t *testing.T) {
	pad := strings.Repeat("\u00c9", 60)
	for _, c := range []struct{ raw, word, want string }{
		{"Hit", "hit", "Hit"}, {"a\r\n\tHIT  b", "hit", "a HIT b"}, {"xy", "hit", ""},
		{pad + " Hit " + pad, "hit", "..." + strings.Repeat("\u00c9", 29) + " Hit " + strings.Repeat("\u00c9", 29) + "..."},
		{"\u0130 Hit", "hit", "\u0130 Hit"}, {"\xff\xff Hit", "hit", "\uFFFD Hit"},
		{strings.Repeat("\u212A", 50) + "Hit" + strings.Repeat("\u212A", 50), "hit", "..." + strings.Repeat("\u212A", 20) + "Hit" + strings.Repeat("\u212A", 20) + "..."},
		{strings.Repeat("a", 59) + "Hit", "hit", "..." + strings.Repeat("a", 58) + "Hit"}, {strings.Repeat("A", 58) + "Hit", "hit", strings.Repeat("A", 58) + "Hit"},
		{"Hit" + strings.Repeat("a", 59), "hit", "Hit" + strings.Repeat("a", 58) + "..."}, {"Hit" + strings.Repeat("a", 58), "hit", "Hit" + strings.Repeat("a", 58)},
		{"xx" + strings.Repeat("h", 130) + "yy", strings.Repeat("h", 130), "..." + strings.Repeat("h", 130) + "..."},
	} {
		if got, _ := documents.Excerpt(c.raw, c.word); got != c.want {
			t.Errorf("%q in %q:\n%q, want\n%q", c.word, c.raw, got, c.want)
		}
	}
}
