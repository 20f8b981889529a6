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
			{Title: "Rows", Table: &export.Grid{Head: []string{"what", "id"}, Rows: [][]string{{"<script>alert(1)</script>", "xwd:" + strings.Repeat("ab", 32)}}, More: 2}},
			{Title: "Kinds", Chart: &export.Chart{Labels: []string{strings.Repeat("long ", 30)}, Unit: "kinds",
				Series: []export.Series{{"one", "", []int64{2}}, {"two", "", []int64{2}}}}},
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
	for _, want := range []string{"Decisions &lt;of&gt;", "&lt;script&gt;alert(1)", "and 2 more", "<p>none</p>",
		`<td data-name="id" class="id">xwd:abab`,           // a narrow screen names the column beside the cell
		`<i class="tc0"></i>one`, `<i class="tc1"></i>two`, // series that are neither good nor bad differ
		`<rect x="42.00%" y="19" width="42.00%"`, `<text x="84.00%" dx="6" y="30">4`, // below the label, whatever its length
		`class="tgood" fill="#2a7e3b"><title>match: 3</title>`, "</html>\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
