package mcpserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
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
	vectors := arctest.Vectors(t, "documents.jsonl")
	for _, mode := range []struct{ name, uri string }{{"shared ledger", "duckdb:///:memory:"}, {"own ledger", ""}} {
		t.Run(mode.name, func(t *testing.T) {
			agree := 0
			for i, v := range vectors {
				if mode.uri == "" && i%4 != 0 { // opening a file for each takes its time; the conformance run does all
					continue
				}
				if why := playStrict(t, v, mode.uri); why != "" {
					t.Errorf("%s: %s", v.ID, why)
					continue
				}
				agree++
			}
			t.Logf("%d scenarios agree", agree)
		})
	}
}

// playStrict is play with the texts of errors compared too.
func playStrict(t *testing.T, v arctest.Vector, uri string) string {
	t.Helper()
	project := layProject(t, v)
	server := librarian(t, project, uri)
	c := arctest.NewComparison()
	var answers []any
	for _, step := range v.Steps {
		got, err := ask(t, server, step, answers)
		if err != nil {
			return err.Error()
		}
		answers = append(answers, got)
		want := step.Want
		if why := judge(c, want, got, slices.Concat(arctest.ProseKeys, step.Ignore)); why != "" {
			return step.Tool + ": " + why
		}
		w, _ := want.(*canon.Object)
		g, _ := got.(*canon.Object)
		if text, refused := w.Value("error").(string); refused && !strings.Contains(arctest.TextOf(g, "error"), text) {
			return step.Tool + ": want " + text + ", got " + arctest.TextOf(g, "error")
		}
	}
	return checkAfter(v, project)
}
