package ledger

import (
	"errors"
	"fmt"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// What can be wrong with a ledger's content.
var (
	// ErrAltered means that a stored row is not what was written.
	ErrAltered = errors.New("ledger row altered")
	// ErrTruncated means that events are missing that were acknowledged.
	ErrTruncated = errors.New("ledger lost events")
	// ErrRewritten means that the log holds another event where one was acknowledged.
	ErrRewritten = errors.New("ledger was rewritten")
	// ErrErased means that values an answer needs were erased.
	ErrErased = errors.New("values were erased")
)

// altered names a row that is not what was written.
func altered(format string, args ...any) error {
	return fault.Wrap(ErrAltered, fault.Damaged, "ledger row altered: %s", fmt.Sprintf(format, args...)).
		WithHint("run: arche ledger verify")
}

func alteredEvent(e *Event, what string) error {
	return altered("event %d (%s): %s", e.seq, e.id, what)
}

func noDecision(id string) error {
	return fault.New(fault.NotFound, "no decision %s in this ledger", canon.Repr(clip(id))).
		WithHint("decision ids come from compare_records, resolve, observe and cases")
}

func noRecord(id string) error {
	return fault.New(fault.NotFound, "no record %s in this ledger", canon.Repr(clip(id))).
		WithHint("record ids (rec:sha256:...) come from decision, entities and cases, not the ids of your lists")
}

// clip keeps an argument that is no id from filling an error.
func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "..."
}

// badText is the refusal of a record that has no canonical bytes.
func badText(err error) error {
	return fault.Wrap(err, fault.Invalid, "a record holds text that is not valid UTF-8").
		WithHint("send text as UTF-8 without lone surrogates")
}
