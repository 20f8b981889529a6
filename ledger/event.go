package ledger

import (
	"time"

	"github.com/arche-ledger/arche/internal/canon"
)

// Event is one row of the log. It cannot be changed once made.
type Event struct {
	log        string
	seq        int64
	version    int
	id         string
	kind       string
	subject    string
	supersedes string
	body       string
	actor      string
	recordedAt time.Time
	link       string
}

// Log is the name of the log that the event is in, "main" in a file.
func (e Event) Log() string { return e.log }

// Seq is the event's place in its log, from 1.
func (e Event) Seq() int64 { return e.seq }

// Version is the version of the event's form.
func (e Event) Version() int { return e.version }

// ID is the event's address, "evt:blake3:" and 64 hex digits.
func (e Event) ID() string { return e.id }

// Kind is what the event says, for example "decision.recorded".
func (e Event) Kind() string { return e.kind }

// Subject is what the event is about.
func (e Event) Subject() string { return e.subject }

// Supersedes is the id of the one event this one replaces, or "".
func (e Event) Supersedes() string { return e.supersedes }

// BodyText is the body in its canonical form (RFC 8785).
func (e Event) BodyText() string { return e.body }

// Body parses the body.
func (e Event) Body() (*canon.Object, error) {
	return canon.ParseObject([]byte(e.body), canon.Limits{})
}

// Actor is who caused the event.
func (e Event) Actor() string { return e.actor }

// RecordedAt is when the event was appended, in UTC.
func (e Event) RecordedAt() time.Time { return e.recordedAt }

// Link is the event's link in the hash chain, 64 hex digits.
func (e Event) Link() string { return e.link }

// Draft is an event to be appended.
type Draft struct {
	Kind    string
	Subject string
	Body    any // a *canon.Object, or a struct with json tags that encodes as an object
	// Supersedes is the id of the event this one replaces; "" leaves it to the
	// append rule.
	Supersedes string
	Blobs      []Blob
}

// Blob is content kept beside the log under its address.
type Blob struct {
	Address string
	Bytes   []byte
}

// Filter selects events.
type Filter struct {
	After   int64    // only events with a greater seq
	Kinds   []string // nil = every kind
	Subject string   // "" = every subject
}
