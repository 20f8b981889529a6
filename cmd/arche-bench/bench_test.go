package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/resolve"
)

// The draws are those of Python's random module.
func TestTwister(t *testing.T) {
	r := seedInt(7)
	if got := []float64{r.random(), r.random()}; got[0] != 0.32383276483316237 || got[1] != 0.15084917392450192 {
		t.Errorf("random() after seed(7) = %v", got)
	}
	r = seedText("20260707-org-5")
	got := []int{r.below(10), r.below(1000), r.between(5, 7), r.weighted([]int{30, 25, 5, 40})}
	list := []int{0, 1, 2, 3, 4, 5}
	shuffle(r, list)
	if diff := cmp.Diff(textDraws, append(got, list...)); diff != "" {
		t.Errorf("draws (-want +got):\n%s", diff)
	}
}

// Digests of the files that the reference's generators write.
func TestListsAreTheReferences(t *testing.T) {
	for _, c := range []struct{ entity, n, file, digest string }{
		{"organisation", "50", "a.json", orgA}, {"organisation", "50", "b.json", orgB}, {"organisation", "50", "truth.json", orgTruth},
		{"person", "50", "a.json", personA}, {"person", "50", "b.json", personB},
		{"scale", "400", "a.csv", scaleA}, {"scale", "400", "b.csv", scaleB}, {"scale", "400", "truth.csv", scaleTruth},
	} {
		dir := t.TempDir()
		var out, errs bytes.Buffer
		if code := run([]string{"gen", "--entity", c.entity, "--n", c.n, "--out", dir}, &out, &errs); code != 0 {
			t.Fatalf("gen ended with %d: %s", code, errs.String())
		}
		data, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != c.digest {
			t.Errorf("%s of %s %s has digest %s, want %s", c.file, c.entity, c.n, got, c.digest)
		}
	}
}

func TestSuppliersAreTheReferences(t *testing.T) {
	a, b := newSuppliers(7).batch(0, 8)
	var got []string
	for i := range a {
		got = append(got, a[i].Value("name").(string)+"|"+b[i].Value("phone").(string))
	}
	if diff := cmp.Diff(supplierNames, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGrade(t *testing.T) {
	edges := []resolve.Edge{
		{AID: "a1", BID: "b1", Score: 0.9, Decision: "match"}, {AID: "a2", BID: "b9", Score: 0.8, Decision: "match"},
		{AID: "a2", BID: "b2", Score: 0.8, Decision: "review"}, {AID: "a3", BID: "b9", Score: 0.6, Decision: "review"},
	}
	q := grade(edges, [][2]string{{"a1", "b1"}, {"a2", "b2"}, {"a3", "b3"}, {"a4", "b4"}})
	if q.matches != 2 || q.review != 2 || q.precision != 0.5 || q.recall != 0.25 || q.surfaced != 0.5 {
		t.Errorf("quality %+v", q)
	}
	if q.bestAt != 0.8 || q.bestPrecision != 2.0/3 || q.bestRecall != 0.5 {
		t.Errorf("best cut %+v", q)
	}
	if q := grade(nil, nil); q.f1 != 0 || q.surfaced != 0 {
		t.Errorf("quality of nothing %+v", q)
	}
}

func command0(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, &out, &errs); code != 0 {
		t.Fatalf("%v ended with %d: %s", args, code, errs.String())
	}
	return out.String()
}

// Each measuring command runs on small lists and gives figures that cannot be
// wrong by much.
func TestCommands(t *testing.T) {
	for _, args := range [][]string{
		{"compare", "--entity", "person", "--n", "60"},
		{"compare", "--entity", "organisation", "--n", "60", "--pack-version", "0.10"},
		{"scale", "--rows", "400"},
		{"scale", "--rows", "400", "--backend", "splink"},
	} {
		var line struct {
			Pairs     int     `json:"pairs_scored"`
			Precision float64 `json:"precision"`
			Recall    float64 `json:"recall"`
		}
		if err := json.Unmarshal([]byte(command0(t, args...)), &line); err != nil {
			t.Fatal(err)
		}
		if line.Pairs == 0 || line.Precision < 0.9 || line.Recall < 0.5 {
			t.Errorf("%v: %+v", args, line)
		}
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(command0(t, "ledger", "--records", "80")), &line); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"decisions", "decision", "explain", "replay", "entities", "cases", "resolve_new", "resolve_known", "one_pair_a_call"} {
		if line[k] == nil {
			t.Errorf("ledger line lacks %s", k)
		}
	}
}

// The figures of a ledger of n events are one command.
func TestEventsFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("appends 61,000 events")
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(command0(t, "ledger", "--events", "500")), &line); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"open_to_first_decision_ms", "open_to_first_explain_ms", "verify_wall_s", "state_wall_s", "append", "batch"} {
		if line[k] == nil {
			t.Errorf("the line lacks %s", k)
		}
	}
	if n, _ := line["events"].(float64); n < 500 || n > 2000 {
		t.Errorf("%v events", n)
	}
}

func TestQuality(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "chicago_childcare")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rows := [2]string{"id,name,address\n", "id,name,address\n"}
	truth := "a_id,b_id\n"
	for i, name := range []string{"Zarulo", "Kwimbata", "Pelluvio", "Ostrandi", "Quexal", "Brimhoff", "Tazzinor", "Vuldemar"} {
		id := string(rune('0' + i))
		rows[0] += "a" + id + "," + name + " Nursery," + id + "2 Elm Road\n"
		rows[1] += "b" + id + "," + name + " Nursery School," + id + "2 Elm Rd\n"
		truth += "a" + id + ",b" + id + "\n"
	}
	for name, text := range map[string]string{"a.csv": rows[0], "b.csv": rows[1], "truth.csv": truth} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table := command0(t, "quality", "--data", root, "--sets", "chicago_childcare")
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 2+len(variants) || !strings.Contains(lines[2], "| chicago_childcare | crosswalk.v1 | 1.000 /") {
		t.Errorf("table:\n%s", table)
	}
	var errs bytes.Buffer
	if code := run([]string{"quality"}, &errs, &errs); code != 1 {
		t.Errorf("quality without data ended with %d", code)
	}
	if code := run(nil, &errs, &errs); code != 2 {
		t.Errorf("no command ended with %d", code)
	}
}
