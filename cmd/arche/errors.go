package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// The exit codes of every command.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
	exitBusy     = 4
)

// errFindings ends a command that has printed differences it found (exit 3).
var errFindings = errors.New("findings")

// errFailed ends a command that has printed its own verdict (exit 1).
var errFailed = errors.New("failed")

// usageError is a command line that does not fit.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func (e *usageError) withHint(format string, args ...any) *usageError {
	e.hint = fmt.Sprintf(format, args...)
	return e
}

// usagef makes a usage error (exit 2).
func usagef(format string, args ...any) *usageError {
	return &usageError{err: fmt.Errorf(format, args...)}
}

func isUsage(err error) bool {
	var u *usageError
	return errors.As(err, &u)
}

// report prints err as "error:" and "hint:" lines and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	var u *usageError
	switch f := fault.As(err); {
	case err == nil:
		return exitDone
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.As(err, &u):
		a.complain(u.Error(), u.hint)
		return exitUsage
	case f != nil:
		a.complain(f.Message, f.Hint)
		return exitOf(f.Kind)
	case ctx.Err() != nil:
		a.complain("interrupted", "")
		return exitFailed
	default:
		a.complain(err.Error(), "")
		return exitFailed
	}
}

func (a *app) complain(message, hint string) {
	a.notef("error: %s\n", message)
	if hint != "" {
		a.notef("hint: %s\n", hint)
	}
}

func exitOf(k fault.Kind) int {
	switch k {
	case fault.Busy:
		return exitBusy
	case fault.Damaged:
		return exitFindings
	default:
		return exitFailed
	}
}

// printJSON writes one JSON document to standard output: an answer in its own
// key order, two spaces a level.
func (a *app) printJSON(v any) error {
	b, err := canon.Indent(v)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(b, '\n'))
	return err
}

// printJSONLine writes one line of a JSON Lines stream to standard output.
func (a *app) printJSONLine(v any) error {
	b, err := canon.Compact(v)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(b, '\n'))
	return err
}
