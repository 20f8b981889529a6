package documents_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestListArguments: each wrong one is told before anything is read.
func TestListArguments(t *testing.T) {
	b := open(t, project(t, linkedFiles()))
	for want, req := range map[string]documents.ListRequest{
		`invalid type "x" (valid: `:           {Types: []string{"adr", "x"}},
		`invalid category "x" (valid: `:       {Category: "x"},
		`invalid status "x" (valid: `:         {Status: "x"},
		`invalid tag "1" — must be`:           {Tags: []string{"a", "1"}},
		`invalid tag "" — must be`:            {Tags: []string{"a_1:b|c-d", ""}},
		`invalid tag "a.b" — must be`:         {Tags: []string{"z9", "a.b"}},
		`invalid tag "A" — did you mean "a"?`: {Tags: []string{"A"}},
		"limit must be non-negative":          {Limit: -1},
		"offset must be non-negative":         {Offset: -1},
		`invalid source "x" (valid: `:         {Source: "x"},
	} {
		if _, err := b.List(t.Context(), req); !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", req, err, want)
		}
	}
	for want, req := range map[int]documents.ListRequest{3: {Limit: 3}, 2: {Limit: 2}, 1: {Offset: 2, Source: "local"}, 0: {Offset: 9, Category: "vision"}} {
		if rows := list(t, b, req); len(rows) != want {
			t.Errorf("%+v: %v", req, rows)
		}
	}
	for _, req := range []documents.ListRequest{{Types: []string{"adr"}}, {Status: "draft"}, {Source: " local "}, {Category: "knowledge"}} {
		if rows := list(t, b, req); len(rows) != 3 {
			t.Errorf("%+v: %v", req, rows)
		}
	}
	for _, req := range []documents.ListRequest{{Types: []string{"rule"}}, {Status: "accepted"}, {Source: "global"}, {Tags: []string{"a"}}} {
		if rows := list(t, b, req); len(rows) != 0 {
			t.Errorf("%+v: %v", req, rows)
		}
	}
}

// TestSearchArguments: bounds of time, orders, and what is wrong.
func TestSearchArguments(t *testing.T) {
	files := linkedFiles()
	files["z.memo.md"] = "---\ntitle: \"A\"\n---\n\none quite \u00c9CLE N\u00c9EDLE\n"
	root := project(t, files)
	now := time.Now()
	for i, name := range []string{"c.adr.md", "a.adr.md", "z.memo.md", "b.adr.md"} {
		if err := os.Chtimes(filepath.Join(root, ".archcore", name), now, now.Add(-time.Duration(i)*48*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, root)
	all := documents.SearchRequest{Content: "o", Match: "any"} // in one, two, and one again
	for _, c := range []struct {
		sort, after, source string
		want                []string
	}{
		{"mtime", "", "", []string{"a.adr.md", "z.memo.md", "b.adr.md"}},
		{"", "", "", []string{"a.adr.md", "b.adr.md", "z.memo.md"}},
		{"mtime", "3d", "", []string{"a.adr.md"}}, {"mtime", "72h", "", []string{"a.adr.md"}}, {"", "1000-01-01T00:00:00Z", "", []string{"a.adr.md", "b.adr.md", "z.memo.md"}},
		{"", "3000-01-01T00:00:00Z", "", nil}, {"", " 100d ", "local", []string{"a.adr.md", "b.adr.md", "z.memo.md"}}, {"", "", "global", nil},
	} {
		req := all
		req.Sort, req.MtimeAfter, req.Source = c.sort, c.after, c.source
		got := find(t, b, req)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], ".archcore/")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
	for _, after := range []string{"36500d", "876000h", "0d", "0h", " ", "2026-01-01T00:00:00+01:00"} {
		if _, err := b.Search(t.Context(), documents.SearchRequest{Content: "x", MtimeAfter: after}); err != nil {
			t.Errorf("%q: %v", after, err)
		}
	}
	for want, req := range map[string]documents.SearchRequest{
		"specify at least one filter":                                     {PathRef: " "},
		"limit must be non-negative":                                      {Content: "x", Limit: -1},
		"content must contain at least one word":                          {Content: " "},
		`invalid type "x"`:                                                {Types: []string{"x"}},
		`invalid source "x"`:                                              {Content: "x", Source: "x"},
		"invalid mtime_after: expected RFC3339":                           {Content: "x", MtimeAfter: "d"},
		`invalid mtime_after: unknown duration unit`:                      {Content: "x", MtimeAfter: "1w"},
		"invalid mtime_after: day count too large: 36501 (max 36500)":     {Content: "x", MtimeAfter: "36501d"},
		"invalid mtime_after: hour count too large: 876001 (max 876000)":  {Content: "x", MtimeAfter: "876001h"},
		`invalid mtime_after: expected RFC3339 timestamp or relative dur`: {Content: "x", MtimeAfter: "-1d"},
	} {
		if _, err := b.Search(t.Context(), req); !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", req, err, want)
		}
	}
	for text, want := range map[string]string{"need": "", "n\u00e9edle": "one quite \u00c9CLE N\u00c9EDLE", "\u00c9cle": "one quite \u00c9CLE N\u00c9EDLE"} {
		answer, err := b.Search(t.Context(), documents.SearchRequest{Content: text})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if rows, _ := answer.Value("results").([]any); len(rows) > 0 {
			got, _ = rows[0].(*canon.Object).Value("matches").([]any)[0].(*canon.Object).Value("excerpt").(string)
		}
		if !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: excerpt %q, want %q", text, got, want)
		}
	}
}

// TestRequestsThatAreWrong: each argument of a write that is wrong is named, and
// nothing is made.
func TestRequestsThatAreWrong(t *testing.T) {
	ctx := t.Context()
	root := project(t, linkedFiles())
	b := open(t, root)
	list(t, b, documents.ListRequest{})
	before := foldDisk(t, root)
	bad, odd, none := "done", []string{"Big"}, []string{}
	create := func(r documents.CreateRequest) func() error { return func() error { return drop(b.Create(ctx, r)) } }
	update := func(r documents.UpdateRequest) func() error {
		r.Path = ".archcore/a.adr.md"
		return func() error { return drop(b.Update(ctx, r)) }
	}
	relate := func(source, target, typ string) func() error {
		return func() error {
			return drop(b.AddRelation(ctx, documents.RelationRequest{Source: source, Target: target, Type: typ}))
		}
	}
	for _, c := range []struct {
		call func() error
		want string
	}{
		{create(documents.CreateRequest{Type: "memo", Filename: "x"}), `invalid document type "memo" (valid: `},
		{create(documents.CreateRequest{Type: "adr", Filename: " "}), "filename is required"},
		{create(documents.CreateRequest{Type: "adr", Filename: "a/b"}), `invalid filename "a/b": must not contain path separators`},
		{create(documents.CreateRequest{Type: "adr", Filename: "A"}), `invalid filename "A": must be lowercase`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a--b"}), `invalid filename "a--b": must be lowercase`},
		{create(documents.CreateRequest{Type: "adr", Filename: "-a"}), `invalid filename "-a": must be lowercase`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Status: &bad}), `invalid status "done" (valid: `},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Directory: "../x"}), `invalid directory "../x": must be relative`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Directory: "x/.y"}), `invalid directory "x/.y": hidden directories are not scanned`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Tags: odd}), `invalid tag "Big" — did you mean "big"?`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Content: strings.Repeat("x", 16<<20)}), "content is larger than 16 MiB"},
		{create(documents.CreateRequest{Type: "adr", Filename: "a"}), "file already exists: .archcore/a.adr.md"},
		{update(documents.UpdateRequest{}), "at least one of title, status, content, or tags must be provided"},
		{update(documents.UpdateRequest{Status: "done"}), `invalid status "done" (valid: `},
		{update(documents.UpdateRequest{Tags: &odd}), `invalid tag "Big" — did you mean "big"?`},
		{update(documents.UpdateRequest{Content: strings.Repeat("x", 16<<20)}), "content is larger than 16 MiB"},
		{relate("a.adr.md", "b.adr.md", "likes"), "invalid relation type: likes"},
		{relate("/a.adr.md", "b.adr.md", "related"), "relation paths must be relative and within .archcore/"},
		{relate("a.adr.md", `C:\b.adr.md`, "related"), "relation paths must be relative and within .archcore/"},
		{relate("../a.adr.md", "b.adr.md", "related"), "source path must not contain '..'"},
		{relate("a.adr.md", "x/../b.adr.md", "related"), "target path must not contain '..'"},
		{relate("a.txt", "b.adr.md", "related"), "relation endpoints must be .md document files"},
		{relate("a.adr.md", ".archcore/./a.adr.md", "related"), "source and target must be different documents"},
		{relate("none.adr.md", "b.adr.md", "related"), "source document not found: .archcore/none.adr.md"},
		{relate("a.adr.md", "none.adr.md", "related"), "target document not found: .archcore/none.adr.md"},
	} {
		if err := c.call(); fault.As(err) == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, call := range []func() error{relate("a.adr.md", ".archcore/b.adr.md", "related"), update(documents.UpdateRequest{Title: "A"}), update(documents.UpdateRequest{Tags: &none}),
		func() error {
			return drop(b.RemoveRelation(ctx, documents.RelationRequest{Source: "b.adr.md", Target: "c.adr.md", Type: "related"}))
		}} {
		if err := call(); err != nil {
			t.Errorf("what changes nothing: %v", err)
		}
	}
	if diff := cmp.Diff(before, foldDisk(t, root)); diff != "" {
		t.Error(diff)
	}
	if answer, err := b.Remove(ctx, ".archcore/b.adr.md"); err != nil || answer.Value("relations_removed") != 1 || answer.Value("title") != "B" {
		t.Errorf("%v, %v", answer, err)
	}
	put(t, root, "lone.adr.md", "x\n")
	if answer, err := b.Remove(ctx, ".archcore/lone.adr.md"); err != nil || answer.Value("relations_removed") != 0 {
		t.Errorf("%v, %v", answer, err)
	}
}

// TestSearchEndsWithItsCaller ends the context of a search at each question.
func TestSearchEndsWithItsCaller(t *testing.T) {
	b := open(t, project(t, linkedFiles()))
	req := documents.SearchRequest{Content: "one"}
	want := find(t, b, req)
	ended := 0
	for n := 1; ; n++ {
		ctx := arctest.NewCountdown(t.Context(), n)
		answer, err := b.Search(ctx, req)
		if !ctx.Ended() {
			if err != nil || !slices.Equal(paths(answer), want) {
				t.Errorf("%v, %v", answer, err)
			}
			break
		}
		if err == nil || !errors.Is(err, context.Canceled) {
			t.Errorf("question %d: %v", n, err)
		}
		ended++
	}
	if ended < 2 {
		t.Errorf("only %d questions", ended)
	}
}
