// Package service answers arche's questions over plain HTTP and JSON, and
// shows a small page over them.
//
// New gives the handler. Each route is a tool of the MCP server or the engine
// behind one, so that both surfaces say the same. POST answers are attested
// when a signer is set. Values of the ledger's records never leave through it.
package service

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/mcpserver"
)

// Options say what the service works on.
type Options struct {
	Server *mcpserver.Server // the tools
	Ledger *ledger.Ledger    // records what a request asks to be recorded; nil records nothing
	Actor  string            // is named in events; "" is http: and the caller
	Signer mcpserver.Signer  // attests POST answers; nil signs nothing
	Token  string            // bearer token every request must carry; "" asks for none
	// Ceiling is the jurisdiction and statute that stand in for a request's.
	Jurisdiction, Statute string
	PackVersion, Engine   string
	Log                   *slog.Logger
}

// service is the state behind the handler.
type service struct {
	opts   Options
	log    *slog.Logger
	routes []route
}

// New makes the handler. Requests from a foreign web origin are refused.
func New(opts Options) http.Handler {
	s := &service{opts: opts, log: opts.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.routes = s.allRoutes()
	mux := http.NewServeMux()
	for _, r := range s.routes {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	open := http.NewServeMux()
	addPage(open)
	open.Handle("/", mcpserver.RequireToken(opts.Token, fallback(mux)))
	return http.NewCrossOriginProtection().Handler(s.recovered(onlyLocalNames(open)))
}

// fallback words what the mux has no route for as JSON.
func fallback(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "" && method != r.Method {
				w.Header().Set("Allow", method)
				writeError(w, http.StatusMethodNotAllowed, "Method Not Allowed")
				return
			}
		}
		writeError(w, http.StatusNotFound, "Not Found")
	})
}

// onlyLocalNames refuses foreign Host headers on a loopback connection, which
// is how a web page reaches a local server by rebinding its own name.
func onlyLocalNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if addr, ok := r.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok && isLoopback(addr.String()) && !isLoopback(r.Host) {
			writeError(w, http.StatusMisdirectedRequest, "Invalid Host header")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(host string) bool {
	host = strings.ToLower(host)
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	host = strings.Trim(host, "[]")
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// recovered turns a panic into that request's 500.
func (s *service) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(p)
				}
				s.log.ErrorContext(r.Context(), "request failed", slog.String("path", r.Pattern))
				writeError(w, http.StatusInternalServerError, "Internal Server Error")
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// serve answers one request of a route.
func (s *service) serve(w http.ResponseWriter, req *http.Request, r route) {
	ctx := ledger.WithActor(req.Context(), s.actor(req))
	raw, ok := s.arguments(w, req, r)
	if !ok {
		return
	}
	args, err := mcpserver.DecodeArgs(r.name, r.args, raw)
	if err != nil {
		writeInvalid(w, textOf(err))
		return
	}
	answer, err := r.run(ctx, args)
	if err != nil {
		s.refuse(w, req, err)
		return
	}
	if s.opts.Signer != nil && r.attested() {
		envelope, err := s.opts.Signer.Attest(r.name, args.Filled(), answer, callerOf(req))
		if err != nil {
			s.refuse(w, req, err)
			return
		}
		answer = answer.Clone()
		answer.Set("attestation", envelope)
	}
	writeJSON(w, http.StatusOK, answer)
}

// actor is who events of a request are by: the operator's name, else the caller.
func (s *service) actor(req *http.Request) string {
	if s.opts.Actor != "" {
		return s.opts.Actor
	}
	return "http:" + mcpserver.Shorten(*callerOf(req))
}

// callerOf is who calls: the header, else the client's address.
func callerOf(r *http.Request) *string {
	c := strings.TrimSpace(r.Header.Get("X-Arche-Caller"))
	if c == "" {
		c, _, _ = strings.Cut(r.RemoteAddr, ":")
		if after, ok := strings.CutPrefix(r.RemoteAddr, "["); ok {
			c, _, _ = strings.Cut(after, "]")
		}
	}
	return &c
}

// arguments is the body of a POST, or path and query of a GET, as one object.
func (s *service) arguments(w http.ResponseWriter, req *http.Request, r route) (json.RawMessage, bool) {
	if req.Method != http.MethodPost {
		o := canon.Obj()
		for _, a := range r.args {
			if v := req.PathValue(a.Name); v != "" {
				o.Set(a.Name, v)
			} else if q := req.URL.Query(); q.Has(a.Name) {
				o.Set(a.Name, q.Get(a.Name))
			}
		}
		b, err := canon.Compact(o)
		if err != nil {
			writeInvalid(w, "the address is not valid UTF-8")
			return nil, false
		}
		return b, true
	}
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		writeInvalid(w, "the content type must be application/json")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, mcpserver.MaxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			writeError(w, http.StatusRequestEntityTooLarge, "the body is larger than the limit of 32 MiB")
		}
		return nil, false
	}
	if len(body) == 0 {
		writeInvalid(w, "the body must be a JSON object")
		return nil, false
	}
	return body, true
}

// textOf is what a client reads of an error of the argument layer.
func textOf(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	return "the body must be a JSON object"
}

// refuse answers an error by its kind.
func (s *service) refuse(w http.ResponseWriter, req *http.Request, err error) {
	f := fault.As(err)
	if f == nil {
		if req.Context().Err() == nil {
			s.log.ErrorContext(req.Context(), "request failed", slog.String("path", req.Pattern), slog.Any("error", err))
		}
		writeError(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	text := f.Message
	if f.Hint != "" {
		text += ". " + f.Hint
	}
	switch f.Kind {
	case fault.NotFound:
		writeError(w, http.StatusNotFound, f.Message)
	case fault.Busy:
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, text)
	case fault.Limit:
		writeError(w, http.StatusRequestEntityTooLarge, text)
	case fault.Damaged, fault.Internal:
		writeError(w, http.StatusInternalServerError, text)
	default:
		writeError(w, http.StatusBadRequest, text)
	}
}

// writeInvalid is the answer to a body or query that does not fit.
func writeInvalid(w http.ResponseWriter, text string) {
	writeJSON(w, http.StatusUnprocessableEntity, canon.Obj("detail", []any{
		canon.Obj("loc", []string{"body"}, "msg", text, "type", "value_error"),
	}))
}

func writeError(w http.ResponseWriter, code int, text string) {
	writeJSON(w, code, canon.Obj("detail", text))
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	b, err := canon.Indent(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"detail":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// A client that has gone is no error of ours.
	_, _ = w.Write(append(b, '\n'))
}
