package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

// mcpFlags are the flags of arche mcp.
type mcpFlags struct {
	project             string
	tools               string
	transport           string
	host, path, httpURL string
	port                int
	tokenFile           string
	trace               string
	logLevel, logFormat string
}

// newMCP serves the tools to an agent.
func newMCP(a *app) *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools to an agent over MCP",
		Long: "Serves the tools over the Model Context Protocol, on standard input and output unless told otherwise.\n" +
			"With a ledger every comparison is recorded and the tools that explain, replay and extend it are added.",
		Example: "  ARCHE_LEDGER=duckdb:///work.duckdb arche mcp\n" +
			"  arche mcp --ledger work.duckdb --http 127.0.0.1:8765",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveMCP(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.project, "project", "", "folder that .archcore/ is in (default: ARCHE_PROJECT, else the working directory)")
	flags.StringVar(&f.tools, "tools", "all", "which tools to serve: decisions, documents or all")
	flags.StringVar(&f.httpURL, "http", "", "serve streamable HTTP on this address (host:port) instead of standard input and output")
	flags.StringVar(&f.transport, "transport", "stdio", "stdio or streamable-http")
	flags.StringVar(&f.host, "host", "127.0.0.1", "address to listen on with --transport streamable-http")
	flags.IntVar(&f.port, "port", 8765, "port to listen on with --transport streamable-http")
	flags.StringVar(&f.path, "path", "/mcp", "path of the endpoint over HTTP")
	flags.StringVar(&f.tokenFile, "token-file", "", "file whose first line is the bearer token HTTP clients must send")
	flags.StringVar(&f.trace, "trace", "", "file to append every message of a stdio session to, record values included")
	flags.StringVar(&f.logLevel, "log-level", "warn", "debug, info, warn or error; logs go to standard error")
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json")
	return cmd
}

// serveMCP builds the server from flags and environment and serves until the
// client or the user ends it.
func (a *app) serveMCP(ctx context.Context, f mcpFlags) error {
	log, err := a.logger(f.logLevel, f.logFormat)
	if err != nil {
		return err
	}
	addr, err := f.address()
	if err != nil {
		return err
	}
	opts, closeAll, err := a.serverOptions(f.project, f.tools, log)
	if err != nil {
		return err
	}
	defer closeAll()
	if f.trace != "" {
		trace, err := os.OpenFile(f.trace, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "the trace file can't be written")
		}
		defer trace.Close()
		opts.Trace = trace
	}
	server := mcpserver.New(opts)
	if addr == "" {
		return server.ServeStdio(ctx, a.stdin, a.stdout)
	}
	token, err := readToken(f.tokenFile)
	if err != nil {
		return err
	}
	l, err := listen(addr)
	if err != nil {
		return err
	}
	a.notef("serving MCP at http://%s%s\n", l.Addr(), f.path)
	if token == "" && !loopback(l.Addr()) {
		a.notef("warning: everybody who reaches this address can call the tools; --token-file asks for a token\n")
	}
	return mcpserver.ServeHTTP(ctx, l, server.HTTPHandler(mcpserver.HTTPOptions{Path: f.path, Token: token}), log)
}

// address is where to listen, "" for standard input and output.
func (f *mcpFlags) address() (string, error) {
	if !strings.HasPrefix(f.path, "/") {
		return "", usagef("--path must start with /")
	}
	switch {
	case f.httpURL != "":
		if _, _, err := net.SplitHostPort(f.httpURL); err != nil {
			return "", usagef("--http must be host:port, for example 127.0.0.1:8765")
		}
		if strings.HasPrefix(f.httpURL, ":") {
			return "127.0.0.1" + f.httpURL, nil
		}
		return f.httpURL, nil
	case f.transport == "streamable-http":
		return net.JoinHostPort(f.host, strconv.Itoa(f.port)), nil
	case f.transport == "stdio":
		return "", nil
	}
	return "", usagef("--transport must be stdio or streamable-http")
}

// serverOptions gathers what a server works on. closeAll lets go of it.
func (a *app) serverOptions(project, tools string, log *slog.Logger) (opts mcpserver.Options, closeAll func(), err error) {
	closeAll = func() {}
	opts = mcpserver.Options{Log: log, Actor: a.namedActor()}
	switch tools {
	case "all":
	case "decisions":
		opts.Groups = mcpserver.DecisionTools
	case "documents":
		opts.Groups = mcpserver.DocumentsTools
	default:
		return opts, closeAll, usagef("--tools must be decisions, documents or all")
	}
	if opts.PackVersion, opts.Engine, err = a.engineDefaults(); err != nil {
		return opts, closeAll, err
	}
	signer, err := a.signer()
	if err != nil {
		return opts, closeAll, err
	}
	if signer != nil {
		opts.Signer = signer
	}
	var open []io.Closer
	closeAll = func() {
		for _, c := range slices.Backward(open) {
			if err := c.Close(); err != nil {
				log.Error("close", slog.Any("error", err))
			}
		}
	}
	lopts, err := a.ledgerOptions()
	if err != nil {
		return opts, closeAll, err
	}
	lopts.Log = log
	if uri := a.ledgerURI(); uri != "" {
		if opts.Ledger, err = ledger.Open(uri, lopts); err != nil {
			return opts, closeAll, err
		}
		open = append(open, opts.Ledger)
	}
	protect := mcpserver.ProtectFromEnv(a.env)
	protect.Ledger = opts.Ledger
	opts.Protection = mcpserver.NewProtection(protect)
	if opts.Groups != mcpserver.DecisionTools {
		root, refusal := a.projectRoot(project)
		base, err := documents.Open(documents.Options{Root: root, Refusal: refusal, Ledger: opts.Ledger, LedgerOptions: lopts, Logger: log})
		if err != nil {
			return opts, closeAll, err
		}
		open = append(open, base)
		opts.Documents = mcpserver.DocumentTools(base, hosts.Wirer{Root: base.Root()}, log)
	}
	return opts, closeAll, nil
}

// namedActor is the actor the operator named, "" when none.
func (a *app) namedActor() string {
	if a.actorFlag != "" {
		return a.actorFlag
	}
	return a.env("ARCHE_ACTOR")
}

func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "the token file can't be read").WithHint("--token-file names a file whose first line is the token")
	}
	first, _, _ := strings.Cut(string(b), "\n")
	if first = strings.TrimSpace(first); len(first) < 16 {
		return "", fault.New(fault.Invalid, "the token must have at least 16 characters")
	}
	return first, nil
}

// listen opens a TCP address, wording the common failure.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "can't listen on %s: it is taken or not an address of this machine", addr).
			WithHint("choose another port; 0 takes a free one")
	}
	return l, nil
}

// loopback reports whether only this machine reaches addr.
func loopback(addr net.Addr) bool {
	t, ok := addr.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
