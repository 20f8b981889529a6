package resolve_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// vector is one line of a golden file.
type vector struct {
	id, tool, fault string
	args            *canon.Object
	want            any
	ignore          []string
}

func readVectors(t testing.TB, name string) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		o, err := canon.ParseObject(sc.Bytes(), canon.Limits{NonFinite: true})
		if err != nil {
			t.Fatal(err)
		}
		v := vector{args: o.Value("args").(*canon.Object), want: o.Value("want")}
		v.id, _ = o.Value("id").(string)
		v.tool, _ = o.Value("tool").(string)
		v.fault, _ = o.Value("fault").(string)
		if list, ok := o.Value("ignore").([]any); ok {
			for _, p := range list {
				v.ignore = append(v.ignore, p.(string))
			}
		}
		out = append(out, v)
	}
	return out
}

func records(v any) ([]*canon.Object, error) {
	items, _ := v.([]any)
	out := make([]*canon.Object, 0, len(items))
	for i, item := range items {
		o, ok := item.(*canon.Object)
		if !ok {
			return nil, fmt.Errorf("item %d is not an object", i)
		}
		out = append(out, o)
	}
	return out, nil
}

func textArg(o *canon.Object, key, def string) string {
	if s, ok := o.Value(key).(string); ok {
		return s
	}
	return def
}

// answer runs the tool of a vector.
func answer(ctx context.Context, v vector, packVersion string) (*canon.Object, error) {
	a := v.args
	switch v.tool {
	case "compare_records":
		req, err := compareRequest(a)
		if err != nil {
			return nil, err
		}
		req.PackVersion = packVersion
		res, err := resolve.Compare(ctx, req)
		if err != nil {
			return nil, err
		}
		return res.Answer(), nil
	case "why_unresolved":
		ra, _ := a.Value("record_a").(*canon.Object)
		rb, _ := a.Value("record_b").(*canon.Object)
		return resolve.WhyUnresolved(ctx, ra, rb, textArg(a, "entity", "place"), packVersion)
	case "check_name_equivalence":
		return resolve.CheckNames(textArg(a, "name_a", ""), textArg(a, "name_b", "")), nil
	case "describe_pack":
		return resolve.DescribePack(textArg(a, "entity", ""), packVersion)
	case "internal.compare":
		ra, _ := a.Value("a").(*canon.Object)
		rb, _ := a.Value("b").(*canon.Object)
		res, err := resolve.ComparePair(ctx, resolve.PairRequest{A: ra, B: rb, Entity: textArg(a, "entity", "person"),
			Jurisdiction: textArg(a, "jurisdiction", ""), PackVersion: packVersion})
		if err != nil {
			return nil, err
		}
		return canon.Obj("identity", res.Identity, "action", res.Action, "score", canon.Float(res.Score), "basis", res.Basis,
			"explanation", res.Explanation, "factors", res.Factors, "gate", res.Gate, "vetoes", res.Vetoes,
			"field_weights", res.FieldWeights, "pins", res.Pins, "reference_id_a", res.ReferenceIDA,
			"reference_id_b", res.ReferenceIDB, "jurisdiction", res.Jurisdiction, "decision_id", res.DecisionID), nil
	}
	return nil, fmt.Errorf("no tool %q", v.tool)
}

func compareRequest(a *canon.Object) (resolve.Request, error) {
	req := resolve.Request{Threshold: resolve.DefaultThreshold, Entity: textArg(a, "entity", ""), Backend: textArg(a, "backend", ""), IDField: textArg(a, "id_field", "")}
	if n, ok := a.Value("threshold").(canon.Number); ok {
		req.Threshold, req.ThresholdInt = n.Float(), n.IsInt()
	}
	var err error
	if req.A, err = records(a.Value("list_a")); err != nil {
		return req, err
	}
	if req.B, err = records(a.Value("list_b")); err != nil {
		return req, err
	}
	req.Comparators, err = records(a.Value("comparators"))
	return req, err
}

// differences compares as the vectors say: wanted keys in any order, numbers as
// numbers.
func differences(path string, want, got any, ignore []string, out *[]string) {
	for _, p := range ignore {
		if p == path || strings.HasSuffix(p, "*") && strings.HasPrefix(path, strings.TrimSuffix(p, "*")) {
			return
		}
	}
	note := func() {
		*out = append(*out, fmt.Sprintf("%s: want %s, got %s", path, canon.Repr(want), canon.Repr(got)))
	}
	switch w := want.(type) {
	case *canon.Object:
		g, ok := got.(*canon.Object)
		if !ok {
			note()
			return
		}
		for k, v := range w.All() {
			x, ok := g.Get(k)
			if !ok {
				*out = append(*out, path+"."+k+": missing")
				continue
			}
			differences(strings.TrimPrefix(path+"."+k, "."), v, x, ignore, out)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			note()
			return
		}
		for i := range w {
			differences(fmt.Sprintf("%s.%d", path, i), w[i], g[i], ignore, out)
		}
	case canon.Number:
		g, ok := got.(canon.Number)
		if !ok || math.Abs(w.Float()-g.Float()) > 1e-9 {
			note()
		}
	default:
		if want != got {
			note()
		}
	}
}

func runGolden(t *testing.T, file, packVersion string) {
	for _, v := range readVectors(t, file) {
		t.Run(v.id, func(t *testing.T) {
			got, err := answer(t.Context(), v, packVersion)
			wanted, _ := v.want.(*canon.Object)
			if wanted.Has("error") {
				switch {
				case err == nil && v.fault == "":
					t.Fatalf("no error; the published program says %s", canon.Repr(wanted.Value("error")))
				case err != nil && v.fault != "":
					t.Fatalf("%v; the published fault %s is to be mended", err, v.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := canon.Indent(got)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := canon.Parse(b, canon.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var diffs []string
			differences("", v.want, parsed, v.ignore, &diffs)
			for _, d := range diffs {
				t.Error(d)
			}
		})
	}
}

func TestGolden(t *testing.T)    { runGolden(t, "resolve.jsonl", "") }
func TestGolden010(t *testing.T) { runGolden(t, "resolve-0.10.jsonl", "0.10") }
