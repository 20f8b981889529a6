package ledger

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// The kinds of events that the ledger itself reads. Others are kept, verified
// and skipped by the fold.
const (
	KindRecordStored     = "record.stored"
	KindRunRecorded      = "run.recorded"
	KindDecisionRecorded = "decision.recorded"
	KindEvidenceObserved = "evidence.observed"
	KindOperatorDecided  = "operator.decided"
	KindValuesErased     = "values.erased"
)

const (
	eventVersion = 1
	logMain      = "main"
	eventPrefix  = "evt:blake3:"
	linkDomain   = "arche.link.v1\x00"
	timeForm     = "2006-01-02T15:04:05.000000Z"
)

var zeroLink = strings.Repeat("0", 64)

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

// appendContent appends C: what the event's address is computed over. body must
// be canonical already.
func appendContent(b []byte, version int, kind, subject, supersedes, body string) []byte {
	b = append(append(b, `{"body":`...), body...)
	b = append(b, `,"kind":`...)
	b = appendPlain(b, kind)
	b = append(b, `,"subject":`...)
	b = appendPlain(b, subject)
	b = append(b, `,"supersedes":`...)
	if supersedes == "" {
		b = append(b, "null"...)
	} else {
		b = appendPlain(b, supersedes)
	}
	b, _ = appendInt(append(b, `,"v":`...), int64(version))
	return append(b, '}')
}

// appendPlain is appendText for text that is known to be valid; invalid bytes
// (an altered row) become U+FFFD, which no address fits.
func appendPlain(b []byte, s string) []byte {
	out, err := appendText(b, s)
	if err != nil {
		out, _ = appendText(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

// eventID is the address of an event.
func eventID(version int, kind, subject, supersedes, body string) string {
	b := make([]byte, 0, len(body)+len(subject)+len(kind)+len(supersedes)+64)
	return eventPrefix + blake3Hex(appendContent(b, version, kind, subject, supersedes, body))
}

// chainLink is the event's link: it binds row, order, log, actor and time.
func chainLink(prev string, e *Event) string {
	return blake3Hex(appendLink(make([]byte, 0, 320), prev, e))
}

// appendLink appends what the event's link is computed over.
func appendLink(b []byte, prev string, e *Event) []byte {
	b = append(b, linkDomain...)
	b = append(b, `{"actor":`...)
	b = appendPlain(b, e.actor)
	b = append(b, `,"id":`...)
	b = appendPlain(b, e.id)
	b = append(b, `,"log":`...)
	b = appendPlain(b, e.log)
	b = append(b, `,"prev":`...)
	b = appendPlain(b, prev)
	b = append(b, `,"recorded_at":"`...)
	b = e.recordedAt.UTC().AppendFormat(b, timeForm)
	b, _ = appendInt(append(b, `","seq":`...), e.seq)
	return append(b, '}')
}

// checker recomputes addresses and links of many events in one piece of memory.
type checker struct{ buf []byte }

// fits reports whether the event's content has its address.
func (c *checker) fits(e *Event) bool {
	c.buf = appendContent(c.buf[:0], e.version, e.kind, e.subject, e.supersedes, e.body)
	sum := address(blake3.Sum256(c.buf))
	id, ok := parseAddress(e.id, eventPrefix)
	return ok && id == sum
}

// linked reports whether the event's link is the one behind prev.
func (c *checker) linked(prev string, e *Event) bool {
	c.buf = appendLink(c.buf[:0], prev, e)
	sum := address(blake3.Sum256(c.buf))
	var link address
	return link.decode(e.link) && link == sum
}

func blake3Hex(data []byte) string {
	sum := blake3.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ContentAddress is the address of content under a prefix: prefix, ":blake3:"
// and the hash of the bytes, for example for document bytes and the prefix "doc".
func ContentAddress(prefix string, content []byte) string {
	return prefix + ":blake3:" + blake3Hex(content)
}

// parseTime reads a time in the form that links are computed over.
func parseTime(v any) (time.Time, error) {
	text, _ := v.(string)
	return time.Parse(timeForm, text)
}
