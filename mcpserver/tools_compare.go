package mcpserver

import (
	"context"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// compareTool is compare_records: pure without a ledger, recorded with one.
func (s *Server) compareTool() Tool {
	entity := packArg("entity", "The pack, chosen by what the records are: person; organisation; place (clinics, shops, "+
		"addresses, settlements); artist (musicians, bands); product_electronics, product_grocery, product_home_goods.")
	entity.Nullable = true
	hints := Query
	if s.opts.Ledger != nil {
		hints = Append
	}
	return Tool{
		Name:  "compare_records",
		Title: "Match two lists of records",
		Description: "Reconciles two lists and answers the pairs that are the same thing (match) or can't be settled on what the " +
			"records say (review). Pass either entity or comparators. review is a real answer: the records agree, but on nothing " +
			"rare enough to assert a match; ask why_unresolved what is missing instead of lowering the threshold. " +
			"Pairs below the review floor are left out. With a ledger every pair is recorded and its decision_id opens explain and replay. " +
			"Answers carry ids, numbers and field names, never record values.",
		Args: []Arg{
			{Name: "list_a", Kind: Objects, Required: true, Description: "Records as objects of field: value. describe_pack tells the fields. One message may hold 64 MiB."},
			{Name: "list_b", Kind: Objects, Required: true, Description: "Records to compare them with."},
			entity,
			{Name: "comparators", Kind: Objects, Nullable: true, Description: "Comparators of your own in place of a pack: objects with field, kind, weight and more."},
			{Name: "backend", Kind: Text, Nullable: true, Description: "null is arche's scorer; \"splink\" is a Fellegi-Sunter model derived from the pack, for large lists with many fields and few rare tokens."},
			{Name: "threshold", Kind: Number, Default: canon.Float(resolve.DefaultThreshold), Description: "Least score of a match."},
			{Name: "id_field", Kind: Text, Default: resolve.DefaultIDField, Description: "The field that holds a record's id; without it a record is named by its position."},
		},
		Output: []Out{
			{Name: "matches", Type: "array", Items: "object", Description: "a_id, b_id, score, decision, evidence, distinctive_max, decision_id"},
			{Name: "count", Type: "integer"},
			{Name: "pins", Type: "object", Description: "engine, comparators, frequency tables and thresholds that decided"},
			{Name: "blocking", Type: "object", Description: "how many pairs were scored"},
			{Name: "backend", Type: "object", Optional: true, Description: "which scorer was chosen, when none was named"},
			{Name: "warnings", Type: "array", Items: "string", Optional: true},
		},
		Hints:   hints,
		Handler: s.compare,
	}
}

func (s *Server) compare(ctx context.Context, a *Args) (any, error) {
	req := resolve.Request{
		A:           a.Objects("list_a"),
		B:           a.Objects("list_b"),
		Entity:      a.Text("entity"),
		Comparators: a.Objects("comparators"),
		Backend:     a.Text("backend"),
		Threshold:   a.Number("threshold"),
		IDField:     a.Text("id_field"),
		PackVersion: s.opts.PackVersion,
		Engine:      s.opts.Engine,
		Progress:    Progress(ctx),
	}
	run := resolve.Compare
	if s.opts.Ledger != nil {
		run = s.opts.Ledger.Compare
	}
	res, err := run(ctx, req)
	if err != nil {
		return nil, err
	}
	return res.Answer(), nil
}
