package detect_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arche-ledger/arche/detect"
)

// goldenCase is one recorded answer of the published program.
type goldenCase struct {
	ID   string            `json:"id"`
	Tool string            `json:"tool"`
	Args json.RawMessage   `json:"args"`
	Env  map[string]string `json:"env"`
	Want struct {
		Error      any           `json:"error"`
		Detections []wantSpan    `json:"detections"`
		Entities   []*wantEntity `json:"entities"`
	} `json:"want"`
}

type wantSpan struct {
	Category   string  `json:"category"`
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Confidence float64 `json:"confidence"`
}

type wantEntity struct {
	Type       string  `json:"type"`
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Confidence float64 `json:"confidence"`
	Source     string  `json:"source"`
}

const golden = "../testdata/golden"

func goldenCases(t *testing.T, tool string) []goldenCase {
	t.Helper()
	f, err := os.Open(filepath.Join(golden, "detect.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []goldenCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var c goldenCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Tool == tool && c.Want.Error == nil {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no golden case of %s", tool)
	}
	return out
}

// departures lists the cases answered differently on purpose, with the reason.
func departures(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden, "departures.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGoldenSpans(t *testing.T) {
	listed := departures(t)
	for _, c := range goldenCases(t, "detect_pii") {
		var args struct{ Text, Jurisdiction string }
		if err := json.Unmarshal(c.Args, &args); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		if j := c.Env["ARCHE_JURISDICTION"]; j != "" {
			args.Jurisdiction = j
		}
		spans, err := detect.Scan(args.Text, detect.Options{Jurisdiction: args.Jurisdiction})
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		var got []wantSpan
		for _, s := range spans {
			got = append(got, wantSpan{s.Category, s.Start, s.End, s.Confidence})
		}
		compare(t, c.ID, listed, c.Want.Detections, got)
	}
}

// compare fails on a difference that is not listed. A listed case may agree
// here and depart in another package.
func compare(t *testing.T, id string, listed map[string]string, want, got any) {
	t.Helper()
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-9))
	reason, departs := listed[id]
	if diff != "" && !departs {
		t.Errorf("%s (-want +got):\n%s", id, diff)
	}
	if departs && strings.TrimSpace(reason) == "" {
		t.Errorf("%s is listed as a departure without a reason", id)
	}
}

func TestGoldenEntities(t *testing.T) {
	listed := departures(t)
	for _, c := range goldenCases(t, "detect_entities") {
		var args struct {
			Text  string          `json:"text"`
			Types json.RawMessage `json:"entity_types"`
		}
		if err := json.Unmarshal(c.Args, &args); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		var types []string
		if len(args.Types) > 0 && json.Unmarshal(args.Types, &types) != nil {
			continue // how clients write lists is the server's business
		}
		entities, err := detect.Entities(args.Text, detect.EntityOptions{Types: types})
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		var got []*wantEntity
		for _, e := range entities {
			got = append(got, &wantEntity{e.Type, e.Start, e.End, e.Confidence, e.Source})
		}
		compare(t, c.ID, listed, c.Want.Entities, got)
	}
}
