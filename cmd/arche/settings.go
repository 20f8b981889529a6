package main

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// openLedger opens the ledger this run works on; it is an error when none is
// named. prefix is who writes when no actor is named: prefix and user name.
func (a *app) openLedger(prefix string) (*ledger.Ledger, error) {
	uri, err := a.needLedgerURI()
	if err != nil {
		return nil, err
	}
	opts, err := a.ledgerOptions()
	if err != nil {
		return nil, err
	}
	opts.Actor = a.actor(prefix)
	return ledger.Open(uri, opts)
}

// Bounds of --memory and --threads: with less memory a call of some size fails,
// and more of either is a slip of the keyboard.
const (
	leastMemoryMB = 64
	mostMemoryMB  = 1 << 20
	mostThreads   = 64
)

// ledgerOptions reads what flags and environment say of how a ledger is used.
func (a *app) ledgerOptions() (ledger.Options, error) {
	packVersion, engine, err := a.engineDefaults()
	if err != nil {
		return ledger.Options{}, err
	}
	opts := ledger.Options{PackVersion: packVersion, Engine: engine, MemoryMB: a.memoryMB, Threads: a.threads}
	switch {
	case a.memoryMB != 0 && (a.memoryMB < leastMemoryMB || a.memoryMB > mostMemoryMB):
		return opts, usagef("--memory must be %d to %d MB", leastMemoryMB, mostMemoryMB)
	case a.threads < 0 || a.threads > mostThreads:
		return opts, usagef("--threads must be 1 to %d", mostThreads)
	}
	if wait := a.env("ARCHE_LEDGER_WAIT"); wait != "" {
		d, err := time.ParseDuration(wait)
		if err != nil || d <= 0 {
			return opts, fault.New(fault.Invalid, "ARCHE_LEDGER_WAIT must be a duration above zero").
				WithHint("for example ARCHE_LEDGER_WAIT=30s")
		}
		opts.Wait = d
	}
	if path := a.env("ARCHE_SIGNING_KEY"); path != "" {
		key, err := attest.LoadKey(path)
		if err != nil {
			return opts, err
		}
		opts.Signer, opts.CheckpointEvery = key, checkpointEvery
	}
	return opts, nil
}

// checkpointEvery is how many events may follow a checkpoint before the next is
// signed by itself, when there is a key.
const checkpointEvery = 1000

// engineDefaults reads the operator's choice of pack version and engine.
func (a *app) engineDefaults() (packVersion, engine string, err error) {
	packVersion, engine = a.env("ARCHE_PACK_VERSION"), a.env("ARCHE_ENGINE")
	if err := oneOf("ARCHE_PACK_VERSION", packVersion, resolve.PackVersionDefault, resolve.PackVersion010); err != nil {
		return "", "", err
	}
	if err := oneOf("ARCHE_ENGINE", engine, resolve.EngineV1, resolve.EngineV2); err != nil {
		return "", "", err
	}
	return packVersion, engine, nil
}

func oneOf(name, value string, accepted ...string) error {
	if value == "" {
		return nil
	}
	if slices.Contains(accepted, value) {
		return nil
	}
	return fault.New(fault.Invalid, "%s must be one of %s", name, strings.Join(accepted, ", "))
}

// logger writes to standard error at the level named, as text or JSON.
func (a *app) logger(level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level must be one of debug, info, warn, error")
	}
	opts := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, opts)), nil
	}
	return nil, usagef("--log-format must be text or json")
}
