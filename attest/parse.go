package attest

import (
	"bytes"
	"encoding/json"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// ParseJSON reads a file that Verify is asked about. A repeated object key is
// refused: readers disagree on which of the two counts, so a proof over one of
// them proves nothing.
func ParseJSON(data []byte) (any, error) {
	v, err := canon.Parse(data, canon.Limits{NonFinite: true})
	if err != nil {
		return nil, fault.New(fault.Invalid, "not JSON: %v", err)
	}
	if hasDuplicateKeys(data) {
		return nil, fault.New(fault.Invalid, "an object in the JSON names a key twice")
	}
	return v, nil
}

// hasDuplicateKeys reports whether any object in the JSON text names a key
// twice. The text must be one that canon.Parse accepts; the non-finite words
// end the search early, with what was seen so far.
func hasDuplicateKeys(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	type level struct {
		seen map[string]bool // nil for an array
		key  bool            // the next token is a key
	}
	var stack []level
	for {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		top := len(stack) - 1
		if s, ok := tok.(string); ok && top >= 0 && stack[top].key {
			if stack[top].seen[s] {
				return true
			}
			stack[top].seen[s] = true
			stack[top].key = false
			continue
		}
		switch tok {
		case json.Delim('{'):
			stack = append(stack, level{map[string]bool{}, true})
			continue
		case json.Delim('['):
			stack = append(stack, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			top--
		}
		if top >= 0 {
			stack[top].key = stack[top].seen != nil
		}
	}
}
