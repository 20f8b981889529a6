package export_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/ledger/export"
)

func TestPageIsSelfContained(t *testing.T) {
	p := &export.Page{
		Title: "Decisions <of> \"work\"", Lead: "All & well.",
		Facts: []export.Fact{{"decisions", "5", "good"}},
		Sections: []export.Part{
			{Title: "By month", Chart: &export.Chart{Labels: []string{"2026-01", "2026-02"}, Unit: "decisions a month",
				Series: []export.Series{{"match", "good", []int64{3, 0}}, {"review", "open", []int64{1, 1}}}}},
			{Title: "Rows", Table: &export.Grid{Head: []string{"a"}, Rows: [][]string{{"<script>alert(1)</script>"}}, More: 2}},
			{Title: "Nothing", Table: &export.Grid{Head: []string{"a"}}},
		},
		Footer: []string{"arche@test"},
	}
	var a, b bytes.Buffer
	if err := export.WriteHTML(&a, p); err != nil {
		t.Fatal(err)
	}
	if err := export.WriteHTML(&b, p); err != nil || a.String() != b.String() {
		t.Errorf("two writings differ: %v", err)
	}
	text := a.String()
	for _, bad := range []string{"<script", "http://", "https://", "src=", "@import", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	for _, want := range []string{"Decisions &lt;of&gt;", "&lt;script&gt;alert(1)", "and 2 more", "<p>none</p>", `class="tgood" fill="#2a7e3b"><title>match: 3</title>`, "</html>\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
