package service

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/resolve"
)

// route is one address of the service.
type route struct {
	pattern string // of http.ServeMux
	name    string // as attestations and refusals call it
	args    []mcpserver.Arg
	run     func(ctx context.Context, a *mcpserver.Args) (*canon.Object, error)
}

// attested reports whether the route's answers carry an envelope.
func (r route) attested() bool { return strings.HasPrefix(r.pattern, "POST ") }

// allRoutes are the routes of the service; those over decisions answer 503
// without a ledger.
func (s *service) allRoutes() []route {
	text := mcpserver.Arg{Name: "text", Kind: mcpserver.Text, Required: true}
	id := mcpserver.Arg{Name: "decision_id", Kind: mcpserver.Text, Required: true}
	kind := mcpserver.Arg{Name: "entity_type", Kind: mcpserver.Text, Nullable: true}
	nullable := func(name string) mcpserver.Arg {
		return mcpserver.Arg{Name: name, Kind: mcpserver.Text, Nullable: true}
	}
	backend := func(name string) mcpserver.Arg {
		return mcpserver.Arg{Name: "backend", Kind: mcpserver.Enum, Enum: []string{"auto", "basic"}, Default: name}
	}
	return []route{
		{"GET /livez", "livez", nil, s.livez},
		{"GET /capabilities", "capabilities", nil, s.capabilities},
		{"POST /detect", "detect", []mcpserver.Arg{text, nullable("jurisdiction"), backend("auto"), nullable("statute")}, s.detect},
		{"POST /extract", "extract", []mcpserver.Arg{
			text, {Name: "entity_types", Kind: mcpserver.Texts, Nullable: true}, backend("auto"),
		}, s.extract},
		{"POST /deidentify", "deidentify", []mcpserver.Arg{
			text, nullable("jurisdiction"), backend("auto"), nullable("statute"),
			{Name: "method", Kind: mcpserver.Enum, Enum: []string{"statute"}, Default: "statute"},
			{Name: "store", Kind: mcpserver.Bool, Default: false},
		}, s.deidentify},
		{"POST /places", "places", []mcpserver.Arg{text}, s.places},
		{"POST /compare", "compare", []mcpserver.Arg{
			{Name: "a", Kind: mcpserver.Object, Required: true}, {Name: "b", Kind: mcpserver.Object, Required: true},
			{Name: "entity", Kind: mcpserver.Text, Default: "person"}, nullable("jurisdiction"), backend("basic"),
			{Name: "store", Kind: mcpserver.Bool, Default: false},
		}, s.compare},
		{"GET /decision/{decision_id}", "decision", []mcpserver.Arg{id}, s.ledgerTool("decision")},
		{"GET /explain/{decision_id}", "explain", []mcpserver.Arg{id}, s.ledgerTool("explain")},
		{"GET /replay/{decision_id}", "replay", []mcpserver.Arg{id}, s.ledgerTool("replay")},
		{"GET /entities", "entities", append([]mcpserver.Arg{kind}, mcpserver.PageArgs()...), s.ledgerTool("entities")},
		{"GET /cases", "cases", append([]mcpserver.Arg{kind}, mcpserver.PageArgs()...), s.ledgerTool("cases")},
		{"GET /path", "path", []mcpserver.Arg{
			{Name: "record_a", Kind: mcpserver.Text, Required: true}, {Name: "record_b", Kind: mcpserver.Text, Required: true},
		}, s.ledgerTool("path")},
	}
}

// tool answers a route with the tool of the same arguments.
func (s *service) tool(name string) func(context.Context, *mcpserver.Args) (*canon.Object, error) {
	return func(ctx context.Context, a *mcpserver.Args) (*canon.Object, error) {
		return s.opts.Server.Ask(ctx, name, a.Filled())
	}
}

// ledgerTool is tool for what needs a ledger.
func (s *service) ledgerTool(name string) func(context.Context, *mcpserver.Args) (*canon.Object, error) {
	answer := s.tool(name)
	return func(ctx context.Context, a *mcpserver.Args) (*canon.Object, error) {
		if !s.opts.Server.Serves(name) {
			return nil, noLedger()
		}
		return answer(ctx, a)
	}
}

func (s *service) livez(context.Context, *mcpserver.Args) (*canon.Object, error) {
	return canon.Obj("ok", true, "version", mcpserver.Version, "warm", nil), nil
}

func (s *service) capabilities(ctx context.Context, _ *mcpserver.Args) (*canon.Object, error) {
	var signer any
	if s.opts.Signer != nil {
		signer = canon.Obj("signer", s.opts.Signer.DID())
	}
	endpoints := make([]string, len(s.routes))
	for i, r := range s.routes {
		endpoints[i] = r.pattern
	}
	tools := make([]string, 0, len(s.routes))
	for _, t := range s.opts.Server.Tools() {
		tools = append(tools, t.Name)
	}
	return canon.Obj(
		"version", mcpserver.Version, "ledger", s.opts.Server.Serves("decision"), "model", nil,
		"parsers", canon.Obj("text", true, "pdf", false, "docx", false, "docling", false, "ocr", false),
		"warm", nil, "attestation", signer, "endpoints", endpoints, "tools", tools,
	), nil
}

// detect is detect_pii with the detector of each span and without coverage.
func (s *service) detect(_ context.Context, a *mcpserver.Args) (*canon.Object, error) {
	where, statute := jurisdiction.Ceiling{Jurisdiction: s.opts.Jurisdiction, Statute: s.opts.Statute}.
		Apply(a.Text("jurisdiction"), a.Text("statute"))
	found, err := jurisdiction.Detect(a.Text("text"), where, statute, s.opts.PackVersion)
	if err != nil {
		return nil, err
	}
	spans := []any{}
	for _, d := range found.Detections {
		var citation any
		if d.Citation != nil {
			citation = *d.Citation
		}
		spans = append(spans, canon.Obj("category", d.Category, "start", d.Start, "end", d.End,
			"confidence", d.Confidence, "citation", citation, "detector", d.Span.Detector))
	}
	return canon.Obj("count", len(spans), "detections", spans), nil
}

func (s *service) extract(ctx context.Context, a *mcpserver.Args) (*canon.Object, error) {
	args := canon.Obj("text", a.Text("text"))
	if types := a.Texts("entity_types"); types != nil {
		args.Set("entity_types", types)
	}
	found, err := s.opts.Server.Ask(ctx, "detect_entities", args)
	if err != nil {
		return nil, err
	}
	return canon.Obj("backend", "basic", "count", found.Value("count"), "entities", found.Value("entities")), nil
}

// deidentify is guarded_scan for one text: refused when that refuses, because a
// half-redacted text is worse than none.
func (s *service) deidentify(ctx context.Context, a *mcpserver.Args) (*canon.Object, error) {
	if a.Given("statute") {
		return nil, fault.New(fault.Invalid, "the statute is the operator's choice").WithHint("set ARCHE_STATUTE, or name a jurisdiction")
	}
	args := canon.Obj("text", a.Text("text"))
	if a.Given("jurisdiction") {
		args.Set("jurisdiction", a.Text("jurisdiction"))
	}
	scan, err := s.opts.Server.Ask(ctx, "guarded_scan", args)
	if err != nil {
		return nil, err
	}
	if scan.Value("denied") == true {
		return nil, fault.New(fault.Refused, "%s", canon.Text(scan.Value("reason")))
	}
	fields, byCategory := listOf(scan, "fields"), map[string]int{}
	for _, f := range fields {
		byCategory[canon.Text(f.Value("category"))]++
	}
	counts := canon.Obj()
	for _, category := range slices.Sorted(maps.Keys(byCategory)) {
		counts.Set(category, byCategory[category])
	}
	coverage, _ := scan.Value("coverage").(*canon.Object)
	return canon.Obj("text", scan.Value("redacted_text"), "decision_id", nil,
		"jurisdiction", coverage.Value("jurisdiction"), "statute", coverage.Value("statute_id"),
		"backend", "basic", "model", nil, "method", a.Text("method"), "count", len(fields), "by_category", counts,
		"spans", scan.Value("fields"), "record", nil, "recorded", s.opts.Server.Serves("decision")), nil
}

// places is extract_places with the text of each mention: the caller sent it.
func (s *service) places(ctx context.Context, a *mcpserver.Args) (*canon.Object, error) {
	found, err := s.opts.Server.Ask(ctx, "extract_places", a.Filled())
	if err != nil {
		return nil, err
	}
	runes := []rune(a.Text("text"))
	mentions := []any{}
	for _, m := range listOf(found, "places") {
		start, end := offset(m, "start"), offset(m, "end")
		if start < 0 || end < start || end > len(runes) {
			return nil, fault.New(fault.Internal, "a place outside its text")
		}
		m = m.Clone()
		m.Set("text", string(runes[start:end]))
		mentions = append(mentions, m)
	}
	return canon.Obj("count", len(mentions), "mentions", mentions, "pack", found.Value("pack")), nil
}

// listOf is a list of objects in an answer.
func listOf(o *canon.Object, key string) []*canon.Object {
	var out []*canon.Object
	list, _ := o.Value(key).([]any)
	for _, e := range list {
		if item, ok := e.(*canon.Object); ok {
			out = append(out, item)
		}
	}
	return out
}

// offset is an integer of an answer, -1 when it is none.
func offset(o *canon.Object, key string) int {
	if n, ok := o.Value(key).(canon.Number); ok {
		return int(n.Float())
	}
	return -1
}

// compare decides on one pair, and records the verdict when asked to.
func (s *service) compare(ctx context.Context, a *mcpserver.Args) (*canon.Object, error) {
	req := resolve.PairRequest{
		A: a.Object("a"), B: a.Object("b"), Entity: a.Text("entity"), Jurisdiction: a.Text("jurisdiction"),
		PackVersion: s.opts.PackVersion, Engine: s.opts.Engine,
	}
	p, recorded, err := s.decide(ctx, req, a.Bool("store"))
	if err != nil {
		return nil, err
	}
	return canon.Obj("identity", p.Identity, "action", p.Action, "basis", p.Basis, "explanation", p.Explanation,
		"score", canon.Float(p.Score), "factors", p.Factors, "decision_id", p.DecisionID, "pins", p.Pins, "recorded", recorded), nil
}

func (s *service) decide(ctx context.Context, req resolve.PairRequest, store bool) (*resolve.PairResult, bool, error) {
	switch {
	case !store:
		p, err := resolve.ComparePair(ctx, req)
		return p, false, err
	case s.opts.Ledger == nil:
		return nil, false, noLedger()
	}
	return s.opts.Ledger.ComparePair(ctx, req)
}

func noLedger() error {
	return fault.New(fault.Busy, "no ledger configured: pass --ledger FILE or set ARCHE_LEDGER")
}

// addPage serves the page and its two files; nothing of it is remote.
func addPage(mux *http.ServeMux) {
	for _, f := range []struct{ path, kind, file string }{
		{"GET /{$}", "text/html; charset=utf-8", "page/index.html"},
		{"GET /page.js", "text/javascript; charset=utf-8", "page/page.js"},
		{"GET /page.css", "text/css; charset=utf-8", "page/page.css"},
	} {
		mux.HandleFunc(f.path, func(w http.ResponseWriter, _ *http.Request) {
			b, err := pageFiles.ReadFile(f.file)
			if err != nil {
				writeError(w, http.StatusNotFound, "Not Found")
				return
			}
			w.Header().Set("Content-Type", f.kind)
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Referrer-Policy", "no-referrer")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
				"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			_, _ = w.Write(b)
		})
	}
}
