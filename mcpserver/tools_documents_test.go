package mcpserver_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

// librarian serves the knowledge base of a project; uri "" keeps its history
// in a ledger of its own.
func librarian(t *testing.T, project, uri string) *mcpserver.Server {
	t.Helper()
	opts := documents.Options{Root: project}
	if uri != "" {
		l, err := ledger.Open(uri, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		opts.Ledger = l
	}
	base, err := documents.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	return mcpserver.New(mcpserver.Options{
		Documents: mcpserver.DocumentTools(base, hosts.Wirer{Root: project}, nil),
		Groups:    mcpserver.DocumentsTools,
	})
}

// TestDocumentVectors plays the golden scenarios of the knowledge base, error
// texts included, with a shared ledger and with one of the project's own.
func TestDocumentVectors(t *testing.T) {
	vectors := readVectors(t, filepath.Join(goldenDir, "documents.jsonl"))
	for _, mode := range []struct{ name, uri string }{{"shared ledger", "duckdb:///:memory:"}, {"own ledger", ""}} {
		t.Run(mode.name, func(t *testing.T) {
			agree := 0
			for i, v := range vectors {
				if mode.uri == "" && i%4 != 0 { // opening a file for each takes its time; the conformance run does all
					continue
				}
				if why := playStrict(t, v, mode.uri); why != "" {
					t.Errorf("%s: %s", v.id, why)
					continue
				}
				agree++
			}
			t.Logf("%d scenarios agree", agree)
		})
	}
}

// playStrict is play with the texts of errors compared too.
func playStrict(t *testing.T, v vector, uri string) string {
	t.Helper()
	project := layProject(t, v)
	server := librarian(t, project, uri)
	c := &comparison{names: map[string]string{}}
	var answers []any
	for _, step := range v.steps {
		got, err := ask(t, server, step, answers)
		if err != nil {
			return err.Error()
		}
		answers = append(answers, got)
		c.ignore = slices.Clone(proseKeys)
		c.ignore = append(c.ignore, textsOf(step.Value("ignore"))...)
		want := step.Value("want")
		if why := judge(c, want, got); why != "" {
			return textOf(step, "tool") + ": " + why
		}
		w, _ := want.(*canon.Object)
		g, _ := got.(*canon.Object)
		if text, refused := w.Value("error").(string); refused && !strings.Contains(textOf(g, "error"), text) {
			return textOf(step, "tool") + ": want " + text + ", got " + textOf(g, "error")
		}
	}
	return checkAfter(v, project)
}
