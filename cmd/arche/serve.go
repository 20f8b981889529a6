package main

import (
	"context"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/service"
)

// serveFlags are the flags of arche serve.
type serveFlags struct {
	host                string
	port                int
	signingKey          string
	tokenFile           string
	logLevel, logFormat string
}

// newServe serves plain HTTP and a page over the ledger.
func newServe(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the same answers over plain HTTP, with a page to look at",
		Long: "Serves the engine and the ledger as JSON over HTTP, and a small page of entities, open cases and decisions at /.\n" +
			"Listens on this machine alone unless told otherwise.",
		Example: "  arche serve --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.serveHTTP(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.host, "host", "127.0.0.1", "address to listen on")
	flags.IntVar(&f.port, "port", 8766, "port to listen on; 0 takes a free one")
	flags.StringVar(&f.signingKey, "signing-key", "", "PEM of the key that signs answers (default: ARCHE_SIGNING_KEY)")
	flags.StringVar(&f.tokenFile, "token-file", "", "file whose first line is the bearer token clients must send")
	flags.StringVar(&f.logLevel, "log-level", "warn", "debug, info, warn or error; logs go to standard error")
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json")
	return cmd
}

func (a *app) serveHTTP(ctx context.Context, f serveFlags) error {
	log, err := a.logger(f.logLevel, f.logFormat)
	if err != nil {
		return err
	}
	if f.port < 0 || f.port > 65535 {
		return usagef("--port must be from 0 to 65535")
	}
	if f.signingKey != "" {
		env := a.env
		a.env = func(name string) string {
			if name == "ARCHE_SIGNING_KEY" {
				return f.signingKey
			}
			return env(name)
		}
	}
	opts, closeAll, err := a.serverOptions(".", "decisions", log)
	if err != nil {
		return err
	}
	defer closeAll()
	token, err := readToken(f.tokenFile)
	if err != nil {
		return err
	}
	l, err := listen(net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	if err != nil {
		return err
	}
	a.announce(l, opts, token)
	handler := service.New(service.Options{
		Server: mcpserver.New(opts), Ledger: opts.Ledger, Actor: opts.Actor, Signer: opts.Signer, Token: token,
		Jurisdiction: a.env("ARCHE_JURISDICTION"), Statute: a.env("ARCHE_STATUTE"),
		PackVersion: opts.PackVersion, Engine: opts.Engine, Log: log,
	})
	if err := mcpserver.ServeHTTP(ctx, l, handler, log); err != nil {
		return fault.Wrap(err, fault.Internal, "the HTTP server ended: %v", err)
	}
	return nil
}

// announce says on standard error where the service is and what it works on.
func (a *app) announce(l net.Listener, opts mcpserver.Options, token string) {
	a.notef("serving  http://%s/\n", l.Addr())
	if token == "" && !loopback(l.Addr()) {
		a.notef("warning  everybody who reaches this address can ask; --token-file asks for a token\n")
	}
	if opts.Ledger != nil {
		a.notef("ledger   %s\n", a.ledgerURI())
	} else {
		a.notef("ledger   none: pass --ledger FILE or set ARCHE_LEDGER\n")
	}
	if opts.Signer != nil {
		a.notef("signer   %s\n", opts.Signer.DID())
	} else {
		a.notef("signer   none: answers are not signed\n")
	}
}
