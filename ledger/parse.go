package ledger

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// parseBody reads what the fold needs of an event that somebody else wrote.
// lists fetches the id lists that a run keeps as blobs.
func parseBody(e *Event, lists func(address string, seq int64) ([]string, error)) (any, error) {
	if e.version != eventVersion || !known(e.kind) {
		return nil, nil
	}
	o, err := e.Body()
	if err != nil {
		return nil, alteredEvent(e, "its body is no JSON object")
	}
	text := func(key string) string { t, _ := o.Value(key).(string); return t }
	switch e.kind {
	case KindRecordStored:
		b := storedBody{entityType: text("entity_type")}
		content, ok := parseAddress("x:"+text("content"), "x:")
		if !ok {
			return nil, alteredEvent(e, "its body has no content hash")
		}
		b.content = content
		return b, nil
	case KindRunRecorded:
		return parseRun(e, o, lists)
	case KindDecisionRecorded:
		b := decisionBody{
			decisionID: text("decision_id"), run: text("run"), verb: text("verb"), identity: text("identity"),
			action: text("action"), withheld: text("withheld"),
		}
		n, ok := o.Value("score").(canon.Number)
		if !ok {
			return nil, alteredEvent(e, "its body has no score")
		}
		b.score = n.Float()
		b.link, _ = o.Value("link").(bool)
		if b.same, ok = sameness(e.body); !ok {
			return nil, alteredEvent(e, "its body has no run and position")
		}
		return b, nil
	case KindEvidenceObserved:
		return observedBody{newRecord: text("new_record")}, nil
	case KindOperatorDecided:
		return operatorBody{verdict: text("verdict")}, nil
	}
	return erasedBody{}, nil
}

func parseRun(e *Event, o *canon.Object, lists func(string, int64) ([]string, error)) (any, error) {
	b := runBody{}
	var ok bool
	if b.verb, ok = o.Value("verb").(string); !ok {
		return nil, alteredEvent(e, "its body has no verb")
	}
	if call, ok := o.Value("call").(*canon.Object); ok {
		b.idField, _ = call.Value("id_field").(string)
	}
	for key, list := range map[string]*[]string{"a": &b.a, "b": &b.b} {
		switch x := o.Value(key).(type) {
		case []any:
			*list = listIDs(x)
		case string:
			ids, err := lists(x, e.seq)
			if errors.Is(err, ErrErased) { // nothing erases a list
				err = alteredEvent(e, "its list of records is gone")
			}
			if err != nil {
				return nil, err
			}
			*list = ids
		}
	}
	return b, nil
}

// listIDs are the record ids of a run's list; a row given under a stored
// address is {record, row}.
func listIDs(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		switch x := v.(type) {
		case string:
			out[i] = x
		case *canon.Object:
			out[i], _ = x.Value("record").(string)
		}
	}
	return out
}

// sameness is what two bodies of one decision are compared by: everything but
// the run and the place in it. In a canonical body both stand between "pos" and
// "score", and nothing behind them holds an object, so the last ones are meant.
func sameness(body string) (same uint64, ok bool) {
	i, j := strings.LastIndex(body, `,"pos":`), strings.LastIndex(body, `,"score":`)
	if i < 0 || j < i {
		return 0, false
	}
	return samenessOf([]byte(body[:i]), []byte(body[j:])), true
}

// samenessOf is the sameness of a body without its run and the place in it.
func samenessOf(before, behind []byte) uint64 {
	h := blake3.New()
	_, _ = h.Write(before)
	_, _ = h.Write(behind)
	var sum address
	h.Sum(sum[:0])
	return binary.BigEndian.Uint64(sum[:8])
}
