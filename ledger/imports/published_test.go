package imports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/imports"
	"github.com/google/go-cmp/cmp"
)

func fresh(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{Actor: "cli:tester"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestImportPublished brings in ledgers that arche 0.9.0 and 0.10.0 wrote: every
// decision keeps its id and comes out again, byte for byte.
func TestImportPublished(t *testing.T) {
	for folder, match := range map[string]string{
		"published-0.9":     "xwd:sha256:a96f6fd332e6dc13bcc4a60a82d49e205d55daafe292350ce396d0eb4a2775db",
		"published-0.9-csv": "xwd:sha256:a96f6fd332e6dc13bcc4a60a82d49e205d55daafe292350ce396d0eb4a2775db",
		"published-0.10":    "xwd:sha256:0fd8548f39bb708bb777269f0bf81ea1fdd6eea137e4c13441d307982c71fe7a",
	} {
		p, err := imports.ReadPublished(t.Context(), filepath.Join("testdata", folder))
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		l := fresh(t)
		got, err := l.ImportPublished(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		want := []any{13, 5, 9, 2, 5, 0}
		have := []any{got.Value("records"), got.Value("runs"), got.Value("decisions"), got.Value("observations"),
			len(got.Value("entities").([]any)), len(got.Value("differences").([]string))}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-want +got)\n%s\n%v", folder, diff, got.Value("differences"))
		}
		if err := l.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: verify: %v", folder, err)
		}
		n, err := l.Audit(t.Context(), ledger.AuditOptions{}, func(f *ledger.Audited) error {
			if f.Result != ledger.AuditReproduced {
				t.Errorf("%s: %s %s: %s %s", folder, f.Verb, f.DecisionID, f.Result, f.Reason)
			}
			return nil
		})
		if err != nil || n != 9 {
			t.Errorf("%s: %d audited, %v", folder, n, err)
		}
		d, err := l.Decision(t.Context(), match)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		if at, _ := d.Value("recorded_at").(string); !strings.HasPrefix(at, "2026-11-30T20:48:3") {
			t.Errorf("%s: recorded at %s, not when the published program did", folder, at)
		}
		var labels []any
		for _, r := range d.Value("records").([]any) {
			labels = append(labels, r.(*canon.Object).Value("label"))
		}
		if diff := cmp.Diff([]any{"s1", "r1"}, labels); diff != "" {
			t.Errorf("%s: labels (-want +got)\n%s", folder, diff)
		}
		if c, err := l.Cases(t.Context(), ""); err != nil || c.Value("count") != 0 {
			t.Errorf("%s: cases %v, %v", folder, c, err)
		}
		if _, err := l.ImportPublished(t.Context(), p); !fault.Is(err, fault.Refused) {
			t.Errorf("%s: a second import: %v", folder, err)
		}
	}
}

// TestImportPublishedFaults: what has no place here is listed, never dropped
// without a word.
func TestImportPublishedFaults(t *testing.T) {
	p, err := imports.ReadPublished(t.Context(), "testdata/published-0.9")
	if err != nil {
		t.Fatal(err)
	}
	p.Records[0].Attributes.Set("city", "Mombasa") // no longer the content of its id
	last := &p.Decisions[len(p.Decisions)-1]
	last.SupersededBy = last.ID               // the published self-supersession
	p.Members["rec:sha256:none"] = "ent_none" // a member that is nowhere
	p.Records = append(p.Records, ledger.PublishedRecord{ID: "rec:sha256:text", EntityType: "document"})
	got, err := fresh(t).ImportPublished(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(got.Value("differences").([]string), "\n")
	for _, want := range []string{"does not have the id of its content", "superseded by itself", "entity ent_none had 1 records",
		"was made of text", "which is not here; its decisions were left out", "has no run here"} {
		if !strings.Contains(all, want) {
			t.Errorf("no difference says %q:\n%s", want, all)
		}
	}
}

func TestReadPublishedRefusals(t *testing.T) {
	if _, err := imports.ReadPublished(t.Context(), t.TempDir()); !fault.Is(err, fault.NotFound) {
		t.Errorf("empty folder: %v", err)
	}
	for want, change := range map[string][2]string{
		`has no column "record_id"`:   {`"record_id"`, `"recordid"`},
		"column attributes: no JSON":  {`"{\"city\"`, `"city\"`},
		"column recorded_at: no time": {`"recorded_at":"2026`, `"recorded_at":"x`},
	} {
		dir := t.TempDir()
		files, err := filepath.Glob("testdata/published-0.9/*.jsonl")
		if err != nil || len(files) != 5 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			if strings.Contains(f, "arche_records") {
				if text = strings.ReplaceAll(text, change[0], change[1]); text == string(data) {
					t.Fatalf("%s is not there to change", change[0])
				}
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := imports.ReadPublished(t.Context(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
