package mcpserver

import (
	"context"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// engineTools are the tools that need nothing but the engine.
func (s *Server) engineTools() []Tool {
	return []Tool{
		s.capabilitiesTool(),
		s.describePackTool(),
		s.whyUnresolvedTool(),
		s.checkNamesTool(),
		s.compareTool(),
	}
}

// packArg declares an argument that names an entity pack. NAME@VERSION names a
// version other than the default.
func packArg(name, description string) Arg {
	packs := resolve.Entities()
	return Arg{Name: name, Kind: Enum, Description: description, Enum: packs, Accept: func(v string) bool {
		base, version, found := strings.Cut(v, "@")
		if !found || version != resolve.PackVersionDefault && version != resolve.PackVersion010 {
			return false
		}
		return slices.Contains(packs, base)
	}}
}

func required(a Arg) Arg { a.Required = true; return a }

func (s *Server) capabilitiesTool() Tool {
	return Tool{
		Name:  "capabilities",
		Title: "What this server can do",
		Description: "Lists what this installation really has: statutes, countries it can infer, entity packs, optional parts, " +
			"signer, ledger tools. Call it first: a tool whose optional part is missing answers with an empty list, " +
			"and this is how to tell such an answer from a clean one.",
		Output: []Out{
			{Name: "arche_core_version", Type: "string", Description: "version of the tool contract"},
			{Name: "statutes_available", Type: "array", Items: "string"},
			{Name: "jurisdictions_with_a_statute", Type: "array", Items: "string"},
			{Name: "jurisdictions_inferable", Type: "array", Items: "string"},
			{Name: "entity_packs", Type: "array", Items: "string"},
			{Name: "extras", Type: "object", Description: "optional parts, true when they work here"},
			{Name: "attestation", Type: "object|null", Description: "the signer, or the envelope over this answer when one is set"},
			{Name: "ledger", Type: "object", Description: "whether decisions are recorded, and the tools this adds"},
		},
		Hints: Query,
		Handler: func(context.Context, *Args) (any, error) {
			return s.capabilities(), nil
		},
	}
}

// capabilities lists what works, from what was registered.
func (s *Server) capabilities() *canon.Object {
	p := s.opts.Protection
	if p == nil {
		p = &Protection{}
	}
	var signer any
	if s.opts.Signer != nil {
		signer = canon.Obj("signer", s.opts.Signer.DID())
	}
	ledgerTools, documentTools := []string{}, []string{}
	for _, name := range []string{"decision", "explain", "replay", "entities", "path", "cases", "observe", "resolve"} {
		if _, ok := s.rank[name]; ok {
			ledgerTools = append(ledgerTools, name)
		}
	}
	for _, t := range s.opts.Documents {
		if _, ok := s.rank[t.Name]; ok {
			documentTools = append(documentTools, t.Name)
		}
	}
	return canon.Obj(
		"arche_core_version", ContractVersion,
		"statutes_available", listOf(p.Statutes),
		"jurisdictions_with_a_statute", listOf(p.WithStatute),
		"jurisdictions_inferable", listOf(p.Inferable),
		"entity_packs", listOf(resolve.Entities()),
		"extras", canon.Obj("detect", p.NERConfigured, "splink", true, "doc", p.Documents),
		"attestation", signer,
		"ledger", canon.Obj("configured", s.opts.Ledger != nil, "tools", ledgerTools),
		"documents", canon.Obj("configured", len(documentTools) > 0, "tools", documentTools),
		"arche_version", Version,
		"pack_versions", []string{resolve.PackVersionDefault, resolve.PackVersion010},
		"engines", []string{resolve.EngineV1, resolve.EngineV2},
		"limits", canon.Obj("message_bytes", MaxLine, "nesting", maxNesting),
	)
}

// listOf makes an absent list an empty one, never null.
func listOf(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func (s *Server) describePackTool() Tool {
	return Tool{
		Name:  "describe_pack",
		Title: "Fields an entity pack reads",
		Description: "Says which fields of a record a pack reads, how it compares each one, how much it weighs and when it refutes. " +
			"Any other field is ignored without an error and changes no score, so call this before compare_records " +
			"and rename your columns to fit.",
		Args: []Arg{required(packArg("entity", "The pack to describe."))},
		Output: []Out{
			{Name: "entity", Type: "string"},
			{Name: "fields", Type: "array", Items: "object", Description: "field, kinds, weight, notes, refutes"},
			{Name: "field_names", Type: "array", Items: "string"},
			{Name: "ignores_everything_else", Type: "boolean"},
		},
		Hints: Query,
		Handler: func(_ context.Context, a *Args) (any, error) {
			return resolve.DescribePackWith(a.Text("entity"), s.opts.PackVersion, s.opts.Engine)
		},
	}
}

func (s *Server) whyUnresolvedTool() Tool {
	entity := packArg("entity", "The pack the pair was compared with.")
	entity.Default = "place"
	return Tool{
		Name:  "why_unresolved",
		Title: "What would settle a pair",
		Description: "After a review: which fields would settle the pair and which can't. Effects by strength: hard_constraint, " +
			"decisive_for, can_prevent_match, independent_signal. Read will_not_help before trying again: a cleaner spelling of " +
			"what already agrees makes it no rarer. not_surfaced means the two were never candidates. Nothing here promises no_match.",
		Args: []Arg{
			{Name: "record_a", Kind: Object, Required: true, Description: "One record, as given to compare_records."},
			{Name: "record_b", Kind: Object, Required: true, Description: "The other record."},
			entity,
		},
		Output: []Out{
			{Name: "decision", Type: "string", Description: "match, review or not_surfaced"},
			{Name: "why", Type: "string"},
			{Name: "fields_present", Type: "array|object", Optional: true},
			{Name: "would_resolve", Type: "array", Items: "object"},
			{Name: "will_not_help", Type: "array", Items: "object"},
		},
		Hints: Query,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			return resolve.WhyUnresolvedWith(ctx, a.Object("record_a"), a.Object("record_b"), a.Text("entity"), s.opts.PackVersion, s.opts.Engine)
		},
	}
}

func (s *Server) checkNamesTool() Tool {
	return Tool{
		Name:  "check_name_equivalence",
		Title: "Could two names be one person's",
		Description: "Compares two personal names, spelling variants and word order included, and answers match, review or no_match " +
			"with the score and the bands, so that close but not close enough is an answer of its own. " +
			"It looks at the names only: for records use compare_records.",
		Args: []Arg{
			{Name: "name_a", Kind: Text, Required: true, Description: "One name."},
			{Name: "name_b", Kind: Text, Required: true, Description: "The other name."},
		},
		Output: []Out{
			{Name: "decision", Type: "string", Description: "match, review or no_match"},
			{Name: "score", Type: "number"},
			{Name: "bands", Type: "object", Description: "least score of match and of review"},
		},
		Hints: Query,
		Handler: func(_ context.Context, a *Args) (any, error) {
			return resolve.CheckNamesWith(s.opts.Engine, a.Text("name_a"), a.Text("name_b"))
		},
	}
}
