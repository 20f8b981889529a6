// Package guard redacts text under a statute before it leaves the machine, and
// refuses when it cannot do so safely.
//
// Call [Scan] with a [Request]. Every answer is either a refusal with its
// reason or a text in which each stretch of personal data is replaced by a
// keyed token; an error of any kind while scanning is a refusal too, never a
// half-redacted text. Neither a refusal nor an answer carries a raw value. The
// same value under the same key gives the same token in every call. Redacting
// a redacted text changes nothing. Scan reads no environment and is safe for
// concurrent use.
package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
	"github.com/arche-ledger/arche/packs"
)

// Request is one text to redact with the policy to do it under. Jurisdiction
// and Statute have been put under the operator's ceiling before.
type Request struct {
	Text          string // UTF-8
	Jurisdiction  string // "" = none given
	Statute       string // exact id, "" = the jurisdiction's own
	Key           string // of the tokens; empty = refuse
	Provider      *string
	Allowed       []string // nil = every provider; empty = none
	CrossesBorder bool
	TransferBasis string // "" = none declared
	Coverage      string // jurisdiction.CountAll, or "" for the published claims
	Scheme        string // SchemePublished, or "" for SchemeFolded
}

// Result is what a scan came to.
type Result struct {
	Denied   bool
	Reason   string  // of a refusal
	Citation *string // of a refusal
	Text     string  // redacted
	Fields   []Field // what was replaced, by position
	Coverage *jurisdiction.Coverage
	Metadata *canon.Object
	Found    int // placeholders that the text as given already held

	withCoverage bool // the answer names the coverage, null or not
}

// Field is one replaced stretch. It never holds the value.
type Field struct {
	Category string
	Action   string
	Token    *string // nil when the value was dropped
	Citation string
	Tier     string
}

// Answer returns the guarded_scan answer.
func (r *Result) Answer() *canon.Object {
	if r.Denied {
		o := canon.Obj("denied", true, "reason", r.Reason, "citation", r.Citation)
		if r.withCoverage {
			o.Set("coverage", r.Coverage)
		}
		return o
	}
	fields := make([]*canon.Object, len(r.Fields))
	for i, f := range r.Fields {
		var token any
		if f.Token != nil {
			token = *f.Token
		}
		fields[i] = canon.Obj("category", f.Category, "action", f.Action, "token", token, "citation", f.Citation, "tier", f.Tier)
	}
	return canon.Obj("denied", false, "redacted_text", r.Text, "fields", fields,
		"metadata", r.Metadata, "coverage", r.Coverage, "offsets_match_original", false)
}

// Counts returns how many stretches of each category were replaced.
func (r *Result) Counts() map[string]int {
	counts := map[string]int{}
	for _, f := range r.Fields {
		counts[f.Category]++
	}
	return counts
}

// Guard is a policy that passed every check but the last: it redacts texts
// under one statute with one key.
type Guard struct {
	statute  *packs.Statute
	code     string
	tokens   *tokens
	coverage *jurisdiction.Coverage
	metadata *canon.Object
	scan     func(string, detect.Options) ([]detect.Span, error)
}

// Scan redacts a text or refuses.
func Scan(ctx context.Context, req Request) *Result {
	g, refusal := New(req)
	if refusal != nil {
		return refusal
	}
	return g.Scan(ctx, req.Text)
}

// New makes the checks that do not depend on a text, in their order, and
// returns either a guard or the refusal. req.Text is not looked at.
func New(req Request) (*Guard, *Result) {
	if req.Key == "" {
		return nil, &Result{Denied: true, Reason: "no hash key configured, so tokens could not be stable and the guard refuses rather than inventing one (set ARCHE_HASH_KEY)"}
	}
	statute, absent, err := jurisdiction.Policy(req.Jurisdiction, req.Statute)
	if err != nil {
		return nil, failed(err, nil)
	}
	plan, err := jurisdiction.Plan(req.Jurisdiction, req.Statute, req.Coverage)
	if err != nil {
		return nil, failed(err, nil)
	}
	if reason, citation := check(req, statute, absent, plan); reason != "" {
		return nil, &Result{Denied: true, Reason: reason, Citation: citation, Coverage: plan, withCoverage: true}
	}
	if len(req.Key) > maxKey {
		return nil, failed(fault.New(fault.Invalid, "maximum key length is %d bytes", maxKey), plan)
	}
	scheme := req.Scheme
	if scheme == "" {
		scheme = SchemeFolded
	}
	if scheme != SchemeFolded && scheme != SchemePublished {
		return nil, failed(fault.New(fault.Invalid, "the token scheme is neither %s nor %s", SchemePublished, SchemeFolded), plan)
	}
	code := strings.ToUpper(req.Jurisdiction)
	g := &Guard{statute: statute, code: code, tokens: newTokens(req.Key, scheme, code), coverage: plan, scan: detect.Scan}
	var basis any
	if req.CrossesBorder {
		basis = req.TransferBasis
	}
	g.metadata = canon.Obj("statute_id", statute.ID, "provider", req.Provider, "crosses_border", req.CrossesBorder,
		"transfer_basis", basis, "coverage", plan.Verdict, "uncovered_categories", plan.Uncovered, "token_scheme", scheme)
	return g, nil
}

// check makes checks 2 to 5 and returns the reason of the first that fails.
func check(req Request, statute *packs.Statute, absent *jurisdiction.Absent, plan *jurisdiction.Coverage) (reason string, citation *string) {
	if absent != nil {
		return fmt.Sprintf("no policy, so no permission to emit: %s. Name a statute, for example '%s'.", absent.Reason, absent.Alternatives[0]), nil
	}
	if req.Allowed != nil && (req.Provider == nil || !slices.Contains(req.Allowed, *req.Provider)) {
		var provider any
		if req.Provider != nil {
			provider = *req.Provider
		}
		return fmt.Sprintf("provider %s is not in the allow-list %s", canon.Repr(provider), reprList(req.Allowed, true)), nil
	}
	if req.CrossesBorder && !slices.Contains(statute.TransferBases, req.TransferBasis) {
		var declared any
		if req.TransferBasis != "" {
			declared = req.TransferBasis
		}
		rules := statute.ID + " cross-border transfer rules"
		return fmt.Sprintf("the transfer crosses a border on no basis that %s permits (declared=%s, permitted=%s)",
			statute.ID, canon.Repr(declared), reprList(statute.TransferBases, true)), &rules
	}
	if plan.Verdict == "none" {
		return fmt.Sprintf("no installed detector can find anything that %s governs, so a clean result would mean that nothing was looked for (detectors=%s)",
			statute.ID, reprList(plan.DetectorPackages, false)), &statute.ID
	}
	return "", nil
}

func reprList(list []string, sorted bool) string {
	out := make([]any, len(list))
	if sorted {
		list = slices.Sorted(slices.Values(list))
	}
	for i, s := range list {
		out[i] = s
	}
	return canon.Repr(out)
}

// failed is the refusal for any error. Only the text of a fault is shown.
func failed(err error, plan *jurisdiction.Coverage) *Result {
	reason := "internal error"
	if f := fault.As(err); f != nil {
		reason = f.Message
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		reason = "the scan was cut short"
	}
	return &Result{Denied: true, Reason: "guard error (fail-closed): " + reason, Coverage: plan, withCoverage: true}
}

// Coverage returns the coverage block the guard works under.
func (g *Guard) Coverage() *jurisdiction.Coverage { return g.coverage }

// StatuteID returns the id of the statute the guard works under.
func (g *Guard) StatuteID() string { return g.statute.ID }

// Scan redacts one text or refuses. A panic in a detector is a refusal.
func (g *Guard) Scan(ctx context.Context, doc string) (res *Result) {
	defer func() {
		if p := recover(); p != nil {
			res = failed(errors.New("panic while scanning"), g.coverage)
		}
	}()
	d := newDocument(doc, 0, len(doc))
	if err := g.redact(ctx, d, &known{most: mostHeld}); err != nil {
		return failed(err, g.coverage)
	}
	metadata := g.metadata.Clone()
	if d.found > 0 {
		metadata.Set("placeholders_in_input", d.found)
	}
	return &Result{Text: d.text, Fields: d.fields(), Coverage: g.coverage, Metadata: metadata, Found: d.found, withCoverage: true}
}
