package jurisdiction_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
)

// ceiling is the policy of a vector's environment.
func (v vector) ceiling() jurisdiction.Ceiling {
	return jurisdiction.Ceiling{Jurisdiction: v.Env["ARCHE_JURISDICTION"], Statute: v.Env["ARCHE_STATUTE"]}
}

func TestPlanGolden(t *testing.T) {
	for _, v := range vectors(t, "plan_protection") {
		code, ok1 := v.text("jurisdiction")
		statute, ok2 := v.text("statute")
		if !ok1 || !ok2 {
			continue
		}
		code, statute = v.ceiling().Apply(code, statute)
		plan, err := jurisdiction.Plan(code, statute, "")
		if _, wantError := v.Want["error"]; wantError {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: want a not-found fault, got %v", v.ID, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.ID, err)
			continue
		}
		v.check(t, plan)
	}
}

func TestPlanRefusesWithoutEchoingPaths(t *testing.T) {
	for _, id := range []string{"../engine", "overlays/EU-AI-ACT", "/etc/passwd", "12345678901", "a b\nc", strings.Repeat("X", 41)} {
		_, err := jurisdiction.Plan("NG", id, "")
		f := fault.As(err)
		if f == nil || f.Kind != fault.NotFound {
			t.Errorf("statute %q: want a not-found fault, got %v", id, err)
			continue
		}
		if strings.Contains(f.Message+f.Hint, id) {
			t.Errorf("statute %q is repeated: %s", id, f.Message)
		}
		if !strings.Contains(f.Hint, "NDPA-2023") {
			t.Errorf("the hint does not name what is accepted: %s", f.Hint)
		}
	}
}

func TestPlanNamesTheCodeThatWasMeant(t *testing.T) {
	for written, meant := range map[string]string{"UK": "GB", "Nigeria": "NG", " NG ": "NG", "usa": "US"} {
		plan, err := jurisdiction.Plan(written, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if plan.Verdict != "no-statute" || !strings.Contains(plan.Note, meant+" is the code") {
			t.Errorf("%q: verdict %s, note %q", written, plan.Verdict, plan.Note)
		}
	}
	plan, err := jurisdiction.Plan("12345678901", "", "")
	if err != nil || strings.Contains(plan.Note, "123") {
		t.Errorf("a number as jurisdiction: %v, note %q", err, plan.Note)
	}
}

func TestCountAllOnlyAdds(t *testing.T) {
	for _, id := range jurisdiction.Statutes() {
		published, err := jurisdiction.Plan("NG", id, "")
		if err != nil {
			t.Fatal(err)
		}
		all, err := jurisdiction.Plan("NG", id, jurisdiction.CountAll)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range published.Covered {
			if !slices.Contains(all.Covered, c) {
				t.Errorf("%s: %s is covered, but not when all is counted", id, c)
			}
		}
		for _, c := range published.AlsoDetected {
			if slices.Contains(published.Governed, c) && !slices.Contains(all.Covered, c) {
				t.Errorf("%s: %s is also detected and governed, yet not covered when all is counted", id, c)
			}
		}
		if len(all.AlsoDetected) != 0 {
			t.Errorf("%s: also_detected = %v when all is counted", id, all.AlsoDetected)
		}
	}
}

func TestCeilingCannotBeWeakened(t *testing.T) {
	c := jurisdiction.Ceiling{Jurisdiction: "NG", Statute: "NDPA-2023"}
	for _, call := range [][2]string{{"", ""}, {"US", "BASELINE"}, {"XX", "nope"}} {
		if j, s := c.Apply(call[0], call[1]); j != "NG" || s != "NDPA-2023" {
			t.Errorf("Apply(%q, %q) = %q, %q", call[0], call[1], j, s)
		}
	}
}
