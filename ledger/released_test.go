package ledger_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// keepFormat makes TestReleasedFilesOpen write a ledger of this version first.
// A folder that is there is never written again: it is what a release wrote.
var keepFormat = flag.String("keep-format", "", "name of a new folder of testdata/formats to write")

const formatFolder = "testdata/formats"

func formatKey(t *testing.T) *attest.Key {
	t.Helper()
	k, err := attest.NewKey([]byte(strings.Repeat("f", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// formatAnswers is what a ledger answers of what is written in it, as text:
// entities and every decision. What cases advise may grow better.
func formatAnswers(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	ents, err := l.Entities(t.Context(), "")
	out := indent(t, ents, err) + "\n"
	seen := map[string]bool{}
	for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{ledger.KindDecisionRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(e.Subject(), "@")
		if seen[id] {
			continue
		}
		seen[id] = true
		d, err := l.Decision(t.Context(), id)
		out += indent(t, d, err) + "\n"
	}
	return out
}

// TestReleasedFilesOpen opens a ledger of each released format, the events of
// its last calls still in the write-ahead log: it verifies, answers as it did,
// fits the checkpoint that was signed in it, and goes on.
func TestReleasedFilesOpen(t *testing.T) {
	if *keepFormat != "" {
		writeFormat(t, filepath.Join(formatFolder, *keepFormat))
	}
	folders, err := filepath.Glob(filepath.Join(formatFolder, "*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no kept ledgers: %v", err)
	}
	for _, dir := range folders {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			path := filePath(t)
			for _, suffix := range []string{"", ".wal", ".head"} {
				unpack(t, filepath.Join(dir, "ledger"+suffix+".gz"), path+suffix)
			}
			want, err := os.ReadFile(filepath.Join(dir, "answers.json"))
			if err != nil {
				t.Fatal(err)
			}
			l := open(t, path, ledger.Options{})
			if err := l.Verify(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), formatAnswers(t, l)); diff != "" {
				t.Errorf("answers (-then +now)\n%s", diff)
			}
			notes := 0
			for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{ledger.KindCheckpointSigned}}) {
				if err != nil {
					t.Fatal(err)
				}
				body, err := e.Body()
				if err != nil {
					t.Fatal(err)
				}
				note, _ := body.Value("note").(string)
				if _, err := l.VerifyAgainst(t.Context(), note, formatKey(t).Public()); err != nil {
					t.Error(err)
				}
				notes++
			}
			if notes == 0 {
				t.Error("no checkpoint was kept")
			}
			compare(t, l, pair(1000))
			if err := l.Verify(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// writeFormat makes a ledger with every kind of row and keeps its files.
func writeFormat(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err) // there already: a release wrote it
	}
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	ctx := context.Background()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		compare(t, l, pair(n))
		compare(t, l, reviewed(n))
	}
	must(l.Checkpoint(ctx, formatKey(t)))
	must(nil, l.Close())
	alter(t, path, "CHECKPOINT") // what follows stays in the log
	l = open(t, path, ledger.Options{})
	d, err := l.Decision(ctx, compare(t, l, reviewed(1)).Edges[0].DecisionID)
	must(nil, err)
	a, _ := d.Value("record_a").(string)
	b, _ := d.Value("record_b").(string)
	must(l.Observe(ctx, a, canon.Obj("registration_id", "CS-1")))
	must(l.Decide(ctx, a, b, ledger.VerdictDifferent, "two branches"))
	must(l.Resolve(ctx, canon.Obj("name", "Kijani1 Tea Exporters"), "organisation"))
	text := []byte("# Kept\n")
	address := ledger.ContentAddress("doc", text)
	must(l.Append(ctx, []ledger.Draft{{
		Kind: "document.written", Subject: "doc:kept.md", Body: canon.Obj("address", address, "size", len(text)),
		Blobs: []ledger.Blob{{Address: address, Bytes: text}},
	}}))
	must(nil, os.WriteFile(filepath.Join(dir, "answers.json"), []byte(formatAnswers(t, l)), 0o600))
	must(nil, l.Close())
	for _, suffix := range []string{"", ".wal", ".head"} {
		data, err := os.ReadFile(path + suffix)
		must(nil, err)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		must(w.Write(data))
		must(nil, w.Close())
		must(nil, os.WriteFile(filepath.Join(dir, "ledger"+suffix+".gz"), packed.Bytes(), 0o600))
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
