package mcpserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/arche-ledger/arche/mcpserver"
)

// TestTranscripts plays the client's lines of each file and compares every
// answer, byte for byte. Lines without an id are owed no answer.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]*txtar.File{}
			for i := range archive.Files {
				parts[archive.Files[i].Name] = &archive.Files[i]
			}
			opts := mcpserver.Options{Documents: []mcpserver.Tool{echo}}
			if _, ok := parts["ledger"]; ok {
				opts.Ledger = memory(t)
			}
			s := open(t, opts)
			var got strings.Builder
			for _, l := range strings.Split(strings.TrimSpace(string(parts["client"].Data)), "\n") {
				s.say(l)
				var m struct{ ID any }
				if err := json.Unmarshal([]byte(l), &m); err == nil && m.ID == nil {
					continue
				}
				got.WriteString(s.hear() + "\n")
			}
			s.in.Close()
			more, err := s.rest()
			if err != nil || len(more) > 0 {
				t.Errorf("at the end: %q, %v", more, err)
			}
			if *update {
				parts["server"].Data = []byte(got.String())
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(parts["server"].Data), got.String()); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
}
