package mcpserver

import (
	"context"
	"strings"
	"time"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/detect/places"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/jurisdiction"
	"github.com/arche-ledger/arche/jurisdiction/guard"
	"github.com/arche-ledger/arche/ledger"
)

// ProtectOptions are the policy the protection tools run under. The zero value
// lets a call choose its jurisdiction and refuses every guarded scan, because
// there is no key.
type ProtectOptions struct {
	Ceiling       jurisdiction.Ceiling
	HashKey       string
	Providers     []string // nil = every provider; empty = none
	TransferBasis string
	Coverage      string         // jurisdiction.CountAll or ""
	TokenScheme   string         // guard.SchemePublished or ""
	Ruleset       string         // version of the inference rules, "" = the published one
	Ledger        *ledger.Ledger // records each guarded scan; nil records nothing
	Clock         func() time.Time
}

// ProtectFromEnv reads the operator's policy from the environment. An empty
// variable is an unset one.
func ProtectFromEnv(env func(string) string) ProtectOptions {
	return ProtectOptions{
		Ceiling:       jurisdiction.Ceiling{Jurisdiction: env("ARCHE_JURISDICTION"), Statute: env("ARCHE_STATUTE")},
		HashKey:       env("ARCHE_HASH_KEY"),
		Providers:     providerList(env("ARCHE_ALLOWED_PROVIDERS")),
		TransferBasis: env("ARCHE_TRANSFER_BASIS"),
		Coverage:      env("ARCHE_COVERAGE"),
		TokenScheme:   env("ARCHE_TOKEN_SCHEME"),
		Ruleset:       env("ARCHE_RULESET"),
	}
}

// providerList splits a comma list. What is empty is no list; a list of nothing
// but commas is one that allows nobody.
func providerList(s string) []string {
	if s == "" {
		return nil
	}
	out := []string{}
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// NewProtection returns the tools that find and redact personal data under a
// policy.
func NewProtection(o ProtectOptions) *Protection {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Protection{
		Tools:       []Tool{o.inferTool(), o.planTool(), o.detectTool(), entitiesTool(), o.guardTool(), placesTool()},
		Statutes:    jurisdiction.Statutes(),
		WithStatute: jurisdiction.WithStatute(),
		Inferable:   jurisdiction.Inferable(o.Ruleset),
		Documents:   true,
	}
}

var (
	textArg = Arg{Name: "text", Kind: Text, Required: true, Description: "The text, as it is. Offsets count its code points. One message may hold 64 MiB " +
		"(32 MiB over HTTP); split longer texts."}

	jurisdictionArg = Arg{
		Name: "jurisdiction", Kind: Text, Nullable: true,
		Description: "Country code, or EU. Ignored when the operator has set one.",
	}
	coverageOut = Out{Name: "coverage", Type: "object", Description: "what plan_protection answers: what could be found here and what not"}
)

func (o ProtectOptions) inferTool() Tool {
	return Tool{
		Name:  "infer_jurisdiction",
		Title: "Which law a text falls under",
		Description: "Names the country whose data-protection law governs a text, from registration numbers, regulators, currencies and forms of address in it. " +
			"Abstaining is an answer: the evidence was weak or split. Read policy_available before going on; policy_alternatives names what can be " +
			"passed instead. The evidence names signals and counts, never what was matched.",
		Args: []Arg{textArg},
		Output: []Out{
			{Name: "country", Type: "string|null"},
			{Name: "confidence", Type: "number"},
			{Name: "margin", Type: "number"},
			{Name: "runner_up", Type: "string|null"},
			{Name: "abstained", Type: "boolean"},
			{Name: "reason", Type: "string"},
			{Name: "ruleset_version", Type: "string"},
			{Name: "evidence", Type: "array", Items: "object", Description: "signal, tier, country, count, weight, source"},
			{Name: "statute_id", Type: "string|null"},
			{Name: "policy_available", Type: "boolean"},
			{Name: "policy_reason", Type: "string"},
			{Name: "policy_alternatives", Type: "array", Items: "string"},
		},
		Hints: Query,
		Handler: func(_ context.Context, a *Args) (any, error) {
			return jurisdiction.InferUnder(a.Text("text"), o.Ruleset)
		},
	}
}

func (o ProtectOptions) planTool() Tool {
	return Tool{
		Name:  "plan_protection",
		Title: "What can be found, before scanning",
		Description: "Says which categories a statute governs, which of them the installed detectors can find and which nothing looks for. " +
			"Call it before you send text anywhere. partial is the usual verdict; none means stop; degraded_categories names detectors that were built for another region.",
		Args: []Arg{jurisdictionArg, {
			Name: "statute", Kind: Text, Nullable: true,
			Description: "Exact statute id, to name one other than the jurisdiction's own. Ignored when the operator has set one.",
		}},
		Output: []Out{
			{Name: "verdict", Type: "string", Description: "full, partial, none or no-statute"},
			{Name: "statute_id", Type: "string|null"},
			{Name: "jurisdiction", Type: "string|null"},
			{Name: "detector_packages", Type: "array", Items: "string"},
			{Name: "detectable_categories", Type: "array", Items: "string"},
			{Name: "governed", Type: "array", Items: "string"},
			{Name: "covered", Type: "array", Items: "string"},
			{Name: "uncovered", Type: "array", Items: "string"},
			{Name: "calibration_mismatch", Type: "array", Items: "object"},
			{Name: "degraded_categories", Type: "array", Items: "string"},
			{Name: "note", Type: "string"},
			{Name: "also_detected", Type: "array", Items: "string", Description: "looked for and redacted too, without being counted"},
		},
		Hints: Query,
		Handler: func(_ context.Context, a *Args) (any, error) {
			code, statute := o.Ceiling.Apply(a.Text("jurisdiction"), a.Text("statute"))
			return jurisdiction.Plan(code, statute, o.Coverage)
		},
	}
}

func (o ProtectOptions) detectTool() Tool {
	return Tool{
		Name:  "detect_pii",
		Title: "Where personal data stands",
		Description: "Finds personal data and answers offsets with category, citation and tier, never the values: you hold the text and can slice it. " +
			"count 0 alone does not mean clean; coverage says what nothing looked for.",
		Args: []Arg{textArg, jurisdictionArg},
		Output: []Out{
			{Name: "detections", Type: "array", Items: "object", Description: "category, start, end, confidence, citation, tier"},
			{Name: "count", Type: "integer"},
			coverageOut,
		},
		Hints: Query,
		Handler: func(_ context.Context, a *Args) (any, error) {
			code, statute := o.Ceiling.Apply(a.Text("jurisdiction"), "")
			return jurisdiction.Detect(a.Text("text"), code, statute, o.Coverage)
		},
	}
}

// entity is one entity as detect_entities answers it.
type entity struct {
	Type       string      `json:"type"`
	Start      int         `json:"start"`
	End        int         `json:"end"`
	Confidence canon.Float `json:"confidence"`
	Source     string      `json:"source"`
}

func entitiesTool() Tool {
	return Tool{
		Name:  "detect_entities",
		Title: "Typed entities in a text",
		Description: "Finds people, telephone numbers, e-mail addresses, identifiers, money, dates, URLs and ISBNs by rules and a name lexicon; answers typed offsets, " +
			"never the words. Look at ner_backend_installed before you believe an empty answer: without a model nothing proposes organisations or places.",
		Args: []Arg{textArg, {
			Name: "entity_types", Kind: Texts, Nullable: true,
			Description: "Types to answer: " + strings.Join(detect.EntityTypes(), ", ") + ". None = all.",
		}},
		Output: []Out{
			{Name: "entities", Type: "array", Items: "object", Description: "type, start, end, confidence, source"},
			{Name: "count", Type: "integer"},
			{Name: "ner_backend_installed", Type: "boolean"},
		},
		Hints: Query,
		Handler: func(_ context.Context, a *Args) (any, error) {
			found, err := detect.Entities(a.Text("text"), detect.EntityOptions{Types: a.Texts("entity_types")})
			if err != nil {
				return nil, err
			}
			out := make([]entity, len(found))
			for i, e := range found {
				out[i] = entity{e.Type, e.Start, e.End, canon.Float(e.Confidence), e.Source}
			}
			return canon.Obj("entities", out, "count", len(out), "ner_backend_installed", false), nil
		},
	}
}

func (o ProtectOptions) guardTool() Tool {
	return Tool{
		Name:  "guarded_scan",
		Title: "Redact before sending",
		Description: "Redacts a text for sending on: each value becomes a token that is the same in every call under the operator's key, so that documents stay linkable. " +
			"It refuses unless everything is in order: no key, no statute, a provider that is not allowed, a border crossed on no basis, nothing installed " +
			"that finds what is governed, or any error. Offsets from detect_pii do not fit redacted_text.",
		Args: []Arg{textArg, jurisdictionArg, {
			Name: "provider", Kind: Text, Nullable: true,
			Description: "The model provider the text is meant for, exactly as the operator lists it.",
		}, {
			Name: "crosses_border", Kind: Bool, Default: false,
			Description: "Whether the text leaves the jurisdiction.",
		}},
		Output: []Out{
			{Name: "denied", Type: "boolean"},
			{Name: "reason", Type: "string", Optional: true, Description: "of a refusal"},
			{Name: "citation", Type: "string|null", Optional: true, Description: "of a refusal"},
			{Name: "redacted_text", Type: "string", Optional: true},
			{Name: "fields", Type: "array", Items: "object", Optional: true, Description: "category, action, token, citation, tier, by position"},
			{Name: "metadata", Type: "object", Optional: true},
			{Name: "coverage", Type: "object|null", Optional: true, Description: coverageOut.Description},
			{Name: "offsets_match_original", Type: "boolean", Optional: true, Description: "false: tokens are not as long as what they replaced"},
		},
		Hints: Append,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			code, statute := o.Ceiling.Apply(a.Text("jurisdiction"), "")
			req := guard.Request{
				Text: a.Text("text"), Jurisdiction: code, Statute: statute, Key: o.HashKey,
				Provider: a.OptText("provider"), Allowed: o.Providers, CrossesBorder: a.Bool("crosses_border"),
				TransferBasis: o.TransferBasis, Coverage: o.Coverage, Scheme: o.TokenScheme,
			}
			res := guard.Scan(ctx, req)
			if err := RecordScan(ctx, o.Ledger, req, res, o.Clock()); err != nil {
				return nil, err
			}
			return res.Answer(), nil
		},
	}
}

// RecordScan records a guarded scan in the ledger, when there is one: which
// statute, what was found how often, a keyed digest of the input, never a piece
// of it. A scan that cannot be recorded is not answered.
func RecordScan(ctx context.Context, l *ledger.Ledger, req guard.Request, res *guard.Result, at time.Time) error {
	if l == nil {
		return nil
	}
	subject, body := guard.Record(req, res, at)
	_, err := l.Append(ctx, []ledger.Draft{{Kind: "protection.scanned", Subject: subject, Body: body}})
	return err
}

func placesTool() Tool {
	return Tool{
		Name:  "extract_places",
		Title: "Places and their roles",
		Description: "Finds the places a text mentions and the role of each: origin, destination, via, location, or unknown where the cues are absent or disagree. " +
			"Answers offsets, the cue and the names of the address parts, never the parts.",
		Args: []Arg{textArg},
		Output: []Out{
			{Name: "places", Type: "array", Items: "object", Description: "role, start, end, cue, cue_start, cue_end, cue_rule, confidence, evidence, " +
				"jurisdiction, jurisdiction_confidence, has_address, components_present"},
			{Name: "count", Type: "integer"},
			{Name: "pack", Type: "string"},
			{Name: "offsets_match_original", Type: "boolean"},
		},
		Hints:   Query,
		Handler: func(_ context.Context, a *Args) (any, error) { return places.Extract(a.Text("text")), nil },
	}
}
