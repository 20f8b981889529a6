package mcpserver

import (
	"context"
	"regexp"
	"strings"
	"unicode"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
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
			{Name: "list_a", Kind: Objects, Required: true, Description: "Records as objects of field: value. describe_pack tells the fields. One message may hold " +
				"64 MiB (32 MiB over HTTP), both lists in it; longer lists are compared from files by arche compare."},
			{Name: "list_b", Kind: Objects, Required: true, Description: "Records to compare them with."},
			entity,
			{Name: "comparators", Kind: Objects, Nullable: true, Description: "Comparators of your own in place of a pack: objects with field, kind, weight and more. " +
				"Every pair is scored, so both lengths multiplied may be 100,000,000 at most."},
			{Name: "backend", Kind: Text, Nullable: true, Description: "null is arche's scorer; \"splink\" is a Fellegi-Sunter model derived from the pack, for large lists with many fields and few rare tokens."},
			{Name: "threshold", Kind: Number, Default: canon.Float(resolve.DefaultThreshold), Description: "Least score of a match."},
			{Name: "id_field", Kind: Text, Default: resolve.DefaultIDField, Description: "The field that holds a record's id; without it a record is named by its position."},
			limitArg("Most pairs to answer, best first; count and the ledger keep all."),
		},
		Output: []Out{
			{Name: "matches", Type: "array", Items: "object", Description: "a_id, b_id, score, decision, evidence, distinctive_max, decision_id"},
			{Name: "count", Type: "integer"},
			{Name: "pins", Type: "object", Description: "engine, comparators, frequency tables and thresholds that decided"},
			{Name: "blocking", Type: "object", Description: "how many pairs were scored"},
			{Name: "backend", Type: "object", Optional: true, Description: "which scorer was chosen, when none was named"},
			{Name: "warnings", Type: "array", Items: "string", Optional: true},
			{Name: "truncated", Type: "boolean", Optional: true, Description: "with limit: more pairs were found than are answered"},
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
		OpenScratch: ledger.OpenScratch,
	}
	run := resolve.Compare
	if s.opts.Ledger != nil {
		run = s.opts.Ledger.Compare
	}
	res, err := run(ctx, req)
	if err != nil {
		return nil, err
	}
	res.Warnings = append(res.Warnings, personalIDs(req)...)
	return page(res.Answer(), "matches", a), nil
}

// personalFields are names of fields whose values are personal data, so that
// they make bad ids: ids are shown as labels in every answer.
var personalFields = map[string]bool{
	"nationalid": true, "nationalidnumber": true, "idnumber": true, "nin": true, "bvn": true, "ssn": true, "nino": true,
	"passport": true, "passportno": true, "passportnumber": true, "driverslicence": true, "driverslicense": true, "voterid": true,
	"taxid": true, "taxnumber": true, "tin": true, "krapin": true, "steuerid": true,
	"email": true, "emailaddress": true, "phone": true, "phonenumber": true, "mobile": true, "msisdn": true,
	"iban": true, "accountnumber": true, "bankaccount": true, "cardnumber": true,
	"name": true, "fullname": true, "dob": true, "dateofbirth": true, "birthdate": true,
}

var emailShape = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)

// personalIDs warns when the ids of a comparison look like personal data. It
// names the field, never an id.
func personalIDs(req resolve.Request) []string {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, req.IDField)
	if personalFields[plain] {
		return []string{"id_field " + shortName(req.IDField) + " looks like personal data: ids are shown as labels in every answer; a key of your own says less"}
	}
	for _, list := range [][]*canon.Object{req.A, req.B} {
		for _, r := range list {
			if id, ok := r.Value(req.IDField).(string); ok && emailShape.MatchString(id) {
				return []string{"some ids look like e-mail addresses: ids are shown as labels in every answer; a key of your own says less"}
			}
		}
	}
	return nil
}
