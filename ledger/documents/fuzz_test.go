package documents_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/arche-ledger/arche/ledger/documents"
)

// FuzzUpdate changes documents of any text. An update is refused, or what it
// writes reads back with the new title, keeps every foreign key with its value
// and order, and is stable: the same update again changes nothing.
func FuzzUpdate(f *testing.F) {
	for _, s := range []string{
		"", "x", "---\ntitle: A\nstatus: draft\n---\n\nBody\n", "---\r\ntitle: A\r\n---\r\nB\r\n",
		"\uFEFF---\ntitle: A\nowner: x # why\n# above\nlist: [a, b]\n---\nB", "---\n---\nx", "---\na: &x 1\nb: *x\n---\n",
		"---\ntitle: A\nmeta:\n  deep:\n  - 1\n  - {a: b}\ntext: |\n  lines\n  more\n---\n\nBody\n",
		"---\n<<: {tags: [a]}\ntitle: B\n---\n", "---\n# only a comment\n---\nx", "---\ntitle: \"x\"\ntags:\n  - \"b\"\n  - \"a\"\nstatus: 2026-01-01\n---\n",
		"---\n? complex\n: value\n1: int\ntrue: bool\nnull: x\n---\n", "---\ntitle: A\n\towner: tab\n---\n", "---\ntitle: A\n...\n---\n",
	} {
		f.Add(s, "Title")
	}
	f.Fuzz(func(t *testing.T, old, title string) {
		if strings.Contains(old, "\r\r\n") {
			return // folded once it still holds a CR LF, which the next reading folds too
		}
		if !utf8.ValidString(title) || title == "" {
			title = "Title"
		}
		out, err := documents.Apply(old, documents.UpdateRequest{Title: title})
		if err != nil {
			return
		}
		got, status, tags, body, err := documents.Head(out)
		_, oldStatus, oldTags, oldBody, _ := documents.Head(old)
		if err != nil || got != title || status != oldStatus || !slices.Equal(tags, oldTags) || body != oldBody {
			t.Fatalf("written %q from %q\nreads back %q %q %q %q (%v)", out, old, got, status, tags, body, err)
		}
		if a, b := foreign(old), foreign(out); !slices.Equal(a, b) {
			t.Fatalf("foreign keys of %q\nwere %q, are %q", old, a, b)
		}
		again, err := documents.Apply(out, documents.UpdateRequest{Title: title})
		if err != nil || again != out {
			t.Fatalf("a second update of %q\ngave %q (%v)", out, again, err)
		}
	})
}

// foreign lists the keys that tools do not own, with their values and the
// comments that stand on them, as YAML has them.
func foreign(text string) []string {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\uFEFF")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil
	}
	block, _, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		block, ok = strings.CutSuffix(rest, "\n---")
	}
	var doc yaml.Node
	if !ok || yaml.Unmarshal([]byte(block), &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	var out []string
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if key.Kind == yaml.ScalarNode && slices.Contains([]string{"title", "status", "tags"}, key.Value) {
			continue
		}
		text, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{plainNode(key), plainNode(value)}})
		if err != nil {
			text = []byte(key.Value + "=" + value.Value) // an alias whose anchor stands elsewhere
		}
		out = append(out, string(text))
	}
	return out
}

// plainNode is a node by its value: no comments, no style.
func plainNode(n *yaml.Node) *yaml.Node {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment, c.Style = "", "", "", 0
	c.Content = nil
	for _, x := range n.Content {
		c.Content = append(c.Content, plainNode(x))
	}
	return &c
}

// FuzzQuickHead compares the short way through a metadata block with YAML.
func FuzzQuickHead(f *testing.F) {
	for _, s := range []string{
		"title: \"A\"\nstatus: draft", "title: \"A\"\nstatus: draft\ntags:\n  - \"x\"", "title: \"é ☕\"", "status: accepted",
		"title: \"a # b\"\nstatus: draft", "title: \"a: b\"", "title: \"\u2028\"", "title: \"\"", "tags:", "title: \"a\" ", "title: \"\uFEFF\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, block string) {
		quick, ok := documents.QuickHead(block)
		if !ok {
			return
		}
		var h struct {
			Title, Status string
			Tags          []string
		}
		if err := yaml.Unmarshal([]byte(block), &h); err != nil {
			t.Fatalf("%q is no YAML: %v", block, err)
		}
		if quick.Title != h.Title || quick.Status != h.Status || !slices.Equal(quick.Tags, h.Tags) {
			t.Fatalf("%q: quick %+v, YAML %+v", block, quick, h)
		}
	})
}

// FuzzManifest: a manifest is refused, or written in a form that reads back to
// itself.
func FuzzManifest(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", "[]", `{"version":1}`, `{"version":1,"files":{},"relations":[]}`,
		`{"version":1,"files":{"a.md":"` + strings.Repeat("a", 64) + `"},"relations":[{"source":"a.md","target":"b\u00e9.md","type":"related","note":1}]}`,
		`{"version":1,"relations":[null]}`, `{"version":1.0}`, `{"version":1,"relations":[{"source":"a\u0000","target":"b","type":"related"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, n, err := documents.Manifest(data)
		if err != nil {
			return
		}
		again, m, err := documents.Manifest(out)
		if err != nil || string(again) != string(out) || n != m {
			t.Fatalf("%q was written %q, which gives %q (%v)", data, out, again, err)
		}
	})
}

// FuzzSettings: parsing settings never panics and always gives a reason.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{"", "{}", `{"sync":"none"}`, `{"sync":"cloud","project_id":null,"globals":[{"id":"a","path":"x"}]}`, `{"sync":"none","globals":[1]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := documents.ParseSettings(data); err != nil && !strings.HasPrefix(err.Error(), "invalid settings: ") {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

// FuzzText: the searchable form gives the original back byte for byte, and an
// excerpt is valid text that shows the hit.
func FuzzText(f *testing.F) {
	for _, s := range []string{"Hello World", "İstanbul İİ needle", "ẞ straße KELVIN \u212A", "\xff\xfe bad", "é\r\n\té"} {
		f.Add(s, "needle")
	}
	f.Fuzz(func(t *testing.T, raw, word string) {
		if got := documents.Original(raw); got != raw {
			t.Fatalf("%q came back as %q", raw, got)
		}
		excerpt, ok := documents.Excerpt(raw, strings.ToLower(word))
		if ok && !utf8.ValidString(excerpt) {
			t.Fatalf("excerpt %q of %q is no text", excerpt, raw)
		}
		short := strings.ToLower(word)
		if ok && len(short) < 60 && utf8.ValidString(raw) && !strings.ContainsAny(short, " \t\r\n") {
			if !strings.Contains(strings.ToLower(excerpt), short) {
				t.Fatalf("excerpt %q of %q does not show %q", excerpt, raw, short)
			}
		}
	})
}
