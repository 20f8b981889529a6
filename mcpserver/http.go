package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxBody is the longest HTTP request body taken, in bytes.
const MaxBody = 32 << 20

// HTTPOptions say how the protocol is served over HTTP.
type HTTPOptions struct {
	Path  string // "" is /mcp
	Token string // bearer token every request must carry; "" asks for none
}

// HTTPHandler serves the streamable HTTP transport, stateless: any request may
// reach any process. Requests from a foreign web origin are refused, as are
// foreign Host headers on a loopback address.
func (s *Server) HTTPHandler(opts HTTPOptions) http.Handler {
	if opts.Path == "" {
		opts.Path = "/mcp"
	}
	protocol := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{
			Stateless:                    true,
			Logger:                       s.log,
			MaxRequestBodyBytes:          MaxBody,
			PropagateRequestCancellation: true,
		})
	mux := http.NewServeMux()
	mux.Handle(opts.Path, s.checkedBody(protocol))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}` + "\n"))
	})
	return http.NewCrossOriginProtection().Handler(RequireToken(opts.Token, mux))
}

// checkedBody answers a body that is no message as the stdio transport answers
// such a line, before the SDK would in words that quote it.
func (s *Server) checkedBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		if err != nil {
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				http.Error(w, "the body is larger than the limit of 32 MiB", http.StatusRequestEntityTooLarge)
			}
			return
		}
		if _, bad := decodeLine(line{data: bytes.TrimSpace(body)}); bad != nil {
			s.log.WarnContext(r.Context(), "refused a request body", slog.String("reason", bad.Message))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(append(bad.line(), '\n'))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// RequireToken refuses requests without the bearer token, but for GET /livez.
// An empty token asks for none.
func RequireToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if r.URL.Path != "/livez" && (!strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="arche"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP serves handler on l until ctx is done, then lets running requests
// end for a moment. Calls get a context that ends with ctx.
func ServeHTTP(ctx context.Context, l net.Listener, handler http.Handler, log *slog.Logger) error {
	if log == nil {
		log = discardLogger
	}
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		return srv.Close()
	}
	return nil
}
