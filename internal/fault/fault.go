// Package fault is the one error form whose text may leave the process: through
// an MCP answer, a terminal or an HTTP body.
//
// Any other error met at a boundary is an internal error: it is logged on
// standard error and the client is told only that the call failed. So text
// given to New must hold no secret, no ledger value and no absolute path.
package fault

import (
	"errors"
	"fmt"
)

// Kind sorts faults by what the caller can do about them.
type Kind int

// The kinds, with the CLI exit code that belongs to each.
const (
	Invalid  Kind = iota // the input breaks a rule; exit 2 for flags, 1 for data
	NotFound             // an id names nothing in this ledger or project; exit 1
	Refused              // a policy forbids it; exit 1
	Busy                 // another process holds the ledger; exit 4
	Damaged              // stored bytes are not what was written; exit 3
	Limit                // larger than a stated limit; exit 1
	Internal             // an invariant of ours broke; exit 1
)

var kindNames = [...]string{"invalid", "not_found", "refused", "busy", "damaged", "limit", "internal"}

// String returns the kind's name as it is logged.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Error is a fault with the text the client reads and, where one exists, the
// next step to take.
type Error struct {
	Kind    Kind
	Message string
	Hint    string // a sentence that names the next command or the accepted values; may be empty
	Err     error  // cause, logged and matched with errors.Is, never shown
}

// Error returns the message alone; boundaries add the hint.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes a fault of the given kind.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes a fault that keeps err as its cause without showing its text.
func Wrap(err error, kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: err}
}

// WithHint sets the hint and returns the same fault.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// As returns the first fault in err's chain, or nil.
func As(err error) *Error {
	if f, ok := errors.AsType[*Error](err); ok {
		return f
	}
	return nil
}

// Is reports whether err's chain holds a fault of that kind.
func Is(err error, kind Kind) bool {
	f := As(err)
	return f != nil && f.Kind == kind
}
