package export_test

import (
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/ledger"
)

// python runs a script with the Python that ARCHE_PYTHON names, which has duckdb,
// pyjwt[crypto], prov and securesystemslib[crypto].
func python(t *testing.T, script string, args ...string) string {
	t.Helper()
	exe := interpreter(t)
	file := filepath.Join(t.TempDir(), "check.py")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), exe, append([]string{file}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func interpreter(t *testing.T) string {
	t.Helper()
	exe := os.Getenv("ARCHE_PYTHON")
	if exe == "" {
		t.Skip("ARCHE_PYTHON names no interpreter")
	}
	return exe
}

const loadProv = `
import sys
from prov.model import ProvDocument, ProvActivity, ProvEntity, ProvAgent, ProvGeneration, ProvUsage, ProvDerivation
d = ProvDocument.deserialize(sys.argv[1], format="json")
again = ProvDocument.deserialize(content=d.serialize(format="json"), format="json")
assert d == again, "the package does not write what it read"
n = lambda kind: len(list(d.get_records(kind)))
print(n(ProvActivity), n(ProvEntity), n(ProvAgent), n(ProvGeneration), n(ProvUsage), n(ProvDerivation))
print(d.get_provn().count("wasAssociatedWith("))
`

// TestProvPackage loads the PROV-JSON of an export with the prov package of
// Python: 3 decisions, 4 records and 1 version of one, 2 plans, 1 actor.
func TestProvPackage(t *testing.T) {
	dir, _ := write(t, work(t), "decisions", "prov")
	got := python(t, loadProv, filepath.Join(dir, "decisions.prov.json"))
	if diff := cmp.Diff("3 10 1 3 6 1\n3\n", got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const openEnvelope = `
import json, sys
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
file, keyid, public = sys.argv[1:]
key = SSlibKey(keyid, "ed25519", "ed25519", {"public": public})
text = json.load(open(file))
e = Envelope.from_dict(text)
e.verify([key], 1)
s = json.loads(e.payload)
print(s["_type"], s["predicateType"], len(s["subject"]), s["predicate"]["count"])
text["payload"] = text["payload"][:-4] + "AAA="
try:
    Envelope.from_dict(text).verify([key], 1)
except Exception:
    sys.exit(0)
sys.exit("a changed payload verifies")
`

// TestEnvelopeInPython verifies the DSSE envelope of an export with securesystemslib,
// which in-toto verifies with.
func TestEnvelopeInPython(t *testing.T) {
	dir, _ := write(t, work(t), "decisions", "dsse")
	k := key(t, 1)
	got := python(t, openEnvelope, filepath.Join(dir, "decisions.dsse.json"), k.DID(), hex.EncodeToString(k.Public()))
	want := "https://in-toto.io/Statement/v1 https://github.com/arche-ledger/arche/export/v1 3 3\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const askViews = `
import duckdb, json, sys
db = duckdb.connect(sys.argv[1], read_only=True)
for q in json.load(open(sys.argv[2])):
    print(len(db.execute(q).fetchall()))
views = [r[0] for r in db.execute("SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'v\\_%' ESCAPE '\\' AND comment IS NULL").fetchall()]
print(views)
for v in ["v_decision", "v_case", "v_entity", "v_record", "v_membership", "v_operator", "v_event", "v_document", "v_relation", "v_scan"]:
    db.execute("SELECT * FROM " + v).fetchall()
`

// TestViewsInPython reads a ledger's file with the published DuckDB for Python:
// the ten questions of docs/views.md have as many rows as here, and every view is
// there with a comment.
func TestViewsInPython(t *testing.T) {
	interpreter(t) // before the ledger is lent
	l := work(t)
	if _, err := l.Forget(t.Context(), ledger.ForgetRequest{Field: "name", Value: "Kijani Tea Exporters Ltd", Reason: "asked"}); err != nil {
		t.Fatal(err)
	}
	questions := blocks(t, "views.md", "sql")
	want := ""
	for _, q := range questions {
		n := 0
		if err := l.Query(t.Context(), q, nil, func([]driver.Value) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		want += fmt.Sprintln(n)
	}
	text, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "questions.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := l.Lend(t.Context(), func(path string) error { got = python(t, askViews, path, file); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want+"[]\n", got); diff != "" || strings.Count(want, "\n") != 10 {
		t.Errorf("rows (-here +python)\n%s", diff)
	}
}
