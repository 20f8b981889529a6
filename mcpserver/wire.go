package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/arche-ledger/arche/internal/canon"
)

// maxNesting is how many levels of arrays and objects one message may have.
const maxNesting = canon.DefaultDepth

// badLine is the answer to a line that is no message for the server. ID is the
// request's id as it was written, when one could be made out, so that a client
// that waits for it learns of the refusal.
type badLine struct {
	Code    int64
	Message string
	ID      json.RawMessage
}

// line is the JSON-RPC error response.
func (b *badLine) line() []byte {
	id := b.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := canon.Compact(b.Message)
	if err != nil {
		text = []byte(`"invalid message"`)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, b.Code, text)
}

// decodeLine makes a message of one line or says what is wrong with it. No
// text of the line is quoted: it may be personal data.
func decodeLine(l line) (jsonrpc.Message, *badLine) {
	data := bytes.TrimPrefix(l.data, []byte("\xef\xbb\xbf"))
	refuse := func(code int64, format string, args ...any) (jsonrpc.Message, *badLine) {
		return nil, &badLine{Code: code, Message: fmt.Sprintf(format, args...), ID: findID(data)}
	}
	if l.tooLong {
		return refuse(jsonrpc.CodeInvalidRequest, "message longer than %d bytes", len(l.data))
	}
	v, err := canon.Parse(data, canon.Limits{Depth: maxNesting})
	if err != nil {
		return refuse(jsonrpc.CodeParseError, "Parse error: %s", parseReason(data, err))
	}
	o, ok := v.(*canon.Object)
	if !ok {
		if _, batch := v.([]any); batch {
			return nil, &badLine{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not accepted: send one message a line"}
		}
		return nil, &badLine{Code: jsonrpc.CodeInvalidRequest, Message: "a message must be a JSON object"}
	}
	if o.Value("jsonrpc") != "2.0" {
		return refuse(jsonrpc.CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	if bad := checkID(o); bad != "" {
		return nil, &badLine{Code: jsonrpc.CodeInvalidRequest, Message: bad}
	}
	if bad := checkRequest(o); bad != nil {
		bad.ID = findID(data)
		return nil, bad
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil || !o.Has("method") && !o.Has("result") && !o.Has("error") {
		return refuse(jsonrpc.CodeInvalidRequest, "not a JSON-RPC request, notification or response")
	}
	if req, ok := msg.(*jsonrpc.Request); ok && bytes.Equal(bytes.TrimSpace(req.Params), []byte("null")) {
		req.Params = nil
	}
	return msg, nil
}

// parseReason words why a line is not JSON, with the common cause by name.
func parseReason(data []byte, err error) string {
	if _, lenient := canon.Parse(data, canon.Limits{Depth: maxNesting, NonFinite: true}); lenient == nil {
		return "NaN and Infinity are not JSON; send null or leave the field out"
	}
	if syntax, ok := errors.AsType[*canon.SyntaxError](err); ok {
		return syntax.Error()
	}
	return "not JSON"
}

// checkID refuses ids that could not be answered under the same name.
func checkID(o *canon.Object) string {
	id, there := o.Get("id")
	if !there {
		return ""
	}
	switch x := id.(type) {
	case string:
		return ""
	case canon.Number:
		if f := x.Float(); x.IsInt() && f < 1<<53 && f > -(1<<53) {
			return ""
		}
	}
	return "id must be text or an integer below 2^53"
}

// checkRequest refuses what the SDK would refuse in words that quote the input.
func checkRequest(o *canon.Object) *badLine {
	m, there := o.Get("method")
	if !there {
		return nil
	}
	method, ok := m.(string)
	if !ok {
		return &badLine{Code: jsonrpc.CodeInvalidRequest, Message: "method must be text"}
	}
	if !o.Has("id") {
		return nil
	}
	invalid := &badLine{Code: jsonrpc.CodeInvalidParams, Message: "Invalid request parameters"}
	params, there := o.Get("params")
	if !there || params == nil {
		return nil
	}
	p, ok := params.(*canon.Object)
	if !ok {
		return invalid
	}
	if meta, there := p.Get("_meta"); there {
		if _, ok := meta.(*canon.Object); !ok && meta != nil {
			return invalid
		}
	}
	if method == "tools/call" {
		if _, ok := p.Value("name").(string); !ok {
			invalid.Message += ": name must be text"
			return invalid
		}
	}
	return nil
}

// cancelledID is the id that a notifications/cancelled names.
func cancelledID(params json.RawMessage) (jsonrpc.ID, bool) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil || p.RequestID == nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	return id, err == nil
}

// findID returns the literal under the key "id" of the outermost object of a
// text that need not be valid JSON, or nil. It keeps no stack, so nesting can't
// exhaust anything.
func findID(data []byte) json.RawMessage {
	depth, i := 0, 0
	for i < len(data) {
		switch c := data[i]; c {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case '"':
			end := textEnd(data, i)
			if depth == 1 && string(data[i:end]) == `"id"` {
				j := skipSpace(data, end)
				if j < len(data) && data[j] == ':' {
					return scalar(data[skipSpace(data, j+1):])
				}
			}
			i = end
		default:
			i++
		}
	}
	return nil
}

// textEnd is the offset after the text that starts at i.
func textEnd(data []byte, i int) int {
	for j := i + 1; j < len(data); j++ {
		switch data[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(data)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t') {
		i++
	}
	return i
}

// scalar returns the text or integer at the start of data when it can be sent
// back as it stands.
func scalar(data []byte) json.RawMessage {
	end := 0
	if len(data) > 0 && data[0] == '"' {
		end = textEnd(data, 0)
	} else {
		for end < len(data) && (data[end] == '-' || data[end] >= '0' && data[end] <= '9') {
			end++
		}
	}
	if end == 0 || end > 256 || !utf8.Valid(data[:end]) || !json.Valid(data[:end]) {
		return nil
	}
	return json.RawMessage(bytes.Clone(data[:end]))
}
