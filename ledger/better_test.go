package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
)

// better says, for every recorded scenario that shows a defect of the
// reference, what this ledger answers instead. A line is "path = value",
// "path ~ part of the text", "path ! " (null) or "path == other path".
var better = map[string][]string{
	// An unknown record is an error that names it, not an empty chain.
	"ledger-empty-ledger-reads": {"steps.4.error ~ no record 'rec:sha256:0000"},
	// One public id for two pairs: both are cases, and decision says so.
	"ledger-no-ids-review-collides": {
		"steps.2.count = 2", "steps.2.cases.0.decision_id == steps.2.cases.1.decision_id",
		"steps.3.record_a == steps.2.cases.0.a.record_id", "steps.3.also.0.record_a == steps.2.cases.1.a.record_id",
	},
	// Rows that share an id are two records, and the answer warns.
	"ledger-duplicate-ids-in-one-list": {"steps.0.warnings.0 ~ list_a", "steps.1.count = 2", "steps.2.records.0.label = x", "steps.3.records.0.label = x"},
	// Nested values that differ are a conflict, not a failure.
	"ledger-nested-values-conflict-breaks-entities": {"steps.1.count = 1", "steps.1.entities.0.conflicting_fields.1 = tags"},
	// An identical newcomer is found as the record that is stored.
	"ledger-resolve-same-record-twice": {
		"steps.2.verdict = found", "steps.2.record_id == steps.1.record_id", "steps.3.entities.0.decisions = 3",
	},
	"ledger-resolve-only-record-twice-empty-ledger": {
		"steps.1.verdict = found", "steps.1.record_id == steps.0.record_id", "steps.1.entity !", "steps.2.count = 0",
	},
	// Equal evidence for two newcomers: each keeps its own record and links.
	"ledger-resolve-same-evidence-other-city": {
		"steps.2.decisions.0.record_a == steps.2.record_id", "steps.2.decisions.0.decision_id == steps.1.decisions.0.decision_id",
		"steps.3.entities.0.records.3.record_id == steps.2.record_id", "steps.4.hops = 1",
	},
	// A decision that takes a match back takes the entity back too.
	"ledger-observe-contradicts-a-match":           {"steps.3.count = 0", "steps.4.count = 1", "steps.5.same_entity = false", "steps.6.entity_id !", "steps.9.reproduced = true"},
	"ledger-person-national-id-veto":               {"steps.4.count = 0", "steps.6.same_entity = false", "steps.7.reproduced = true"},
	"ledger-place-far-coordinates-unresolve-match": {"steps.4.count = 1", "steps.5.count = 0"},
	// A decision never supersedes itself: the case stays open and reachable.
	"ledger-observe-unread-field-self-supersedes": {
		"steps.4.open_cases = 1", "steps.4.decisions.0.supersedes !", "steps.5.count = 1", "steps.6.superseded_by !",
		"steps.5.cases.0.a.record_id == steps.4.new_record_id",
	},
	"ledger-observe-third-one-sided-closes-case": {"steps.4.open_cases = 1", "steps.5.count = 1", "steps.6.decisions.0.identity = same_entity", "steps.10.count = 0", "steps.11.count = 1"},
	"ledger-observe-after-settled-breaks-path":   {"steps.6.hops = 1", "steps.6.same_entity = true", "steps.7.count = 1", "steps.8.superseded_by !"},
	// Evidence about an old version, or a record without decisions, is stored.
	"ledger-observe-old-record-again-does-nothing": {"steps.3.applied_to == steps.2.new_record_id", "steps.4.cases.0.a.record_id == steps.3.new_record_id"},
	"ledger-observe-record-without-decisions-is-lost": {
		"steps.1.new_record_id ~ rec:sha256:", "steps.2.verdict = review", "steps.2.decisions.0.record_b == steps.1.new_record_id",
	},
	// One observation over several pairs with equal evidence keeps every case.
	"ledger-observe-touches-every-live-decision": {
		"steps.2.open_cases = 3", "steps.3.count = 3", "steps.2.decisions.0.decision_id == steps.2.decisions.2.decision_id",
	},
	"ledger-unicode-resolve-and-observe": {"steps.4.count = 0", "steps.5.entities.0.records.2.record_id == steps.3.new_record_id"},
	// A batch with comparators of its own is replayed as it was made.
	"ledger-observe-batch-with-comparators-skipped": {"steps.6.reproduced = true", "steps.3.new_record_id ~ rec:sha256:", "steps.4.count = 1"},
}

func agrees(answers []any, line string) error {
	part := strings.SplitN(line, " ", 3)
	got, err := arctest.Lookup(answers, part[0])
	if err != nil {
		return err
	}
	switch part[1] {
	case "==":
		other, err := arctest.Lookup(answers, part[2])
		if err != nil {
			return err
		}
		if got != other {
			return fmt.Errorf("%v is not %v", got, other)
		}
	case "!":
		if got != nil {
			return fmt.Errorf("%v is not null", got)
		}
	case "~":
		if s, ok := got.(string); !ok || !strings.Contains(s, part[2]) {
			return fmt.Errorf("%v does not hold %q", got, part[2])
		}
	default:
		text := fmt.Sprint(got)
		if n, ok := got.(canon.Number); ok {
			text = string(n)
		}
		if text != part[2] {
			return fmt.Errorf("%v is not %s", got, part[2])
		}
	}
	return nil
}

func TestBetterThanTheReference(t *testing.T) {
	for _, v := range arctest.Vectors(t, "ledger.jsonl") {
		if v.Fault == "" {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			lines := better[v.ID]
			if len(lines) == 0 {
				t.Fatalf("nothing says what is better than fault %s", v.Fault)
			}
			answers, err := v.Play(tools(t.Context(), memory(t)))
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				if err := agrees(answers, line); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		})
	}
}

// Withheld: a link that would bring two registration numbers into one entity.
func TestContradictingLinkIsWithheld(t *testing.T) {
	l := memory(t)
	call := tools(t.Context(), l)
	supplier := func(id, number string) *canon.Object {
		o := canon.Obj("id", id, "name", "Zarya Mills Ltd")
		if number != "" {
			o.Set("registration_id", number)
		}
		return o
	}
	lists := func(a, b *canon.Object) *canon.Object {
		return canon.Obj("list_a", []any{a}, "list_b", []any{b}, "entity", "organisation")
	}
	for _, args := range []*canon.Object{
		lists(supplier("a", "RC1"), supplier("b", "")),
		lists(supplier("b", ""), supplier("c", "RC2")),
	} {
		if _, err := call("compare_records", args); err != nil {
			t.Fatal(err)
		}
	}
	ents, err := call("entities", canon.NewObject())
	if err != nil {
		t.Fatal(err)
	}
	o := ents.(*canon.Object)
	if o.Value("count") != 1 {
		t.Fatalf("%v entities", o.Value("count"))
	}
	e := o.Value("entities").([]any)[0].(*canon.Object)
	if w, ok := e.Value("withheld_links").([]any); !ok || len(w) != 1 || w[0].(*canon.Object).Value("reason") != "conflict" {
		t.Errorf("the entity does not say which link was withheld: %v", e.Value("withheld_links"))
	}
	if list := e.Value("conflicting_fields").([]string); strings.Contains(strings.Join(list, " "), "registration_id") {
		t.Errorf("conflicting fields %v", list)
	}
}
