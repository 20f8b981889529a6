package attest

import (
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
// twice. The text must be one that canon.Parse accepts.
func hasDuplicateKeys(data []byte) bool {
	type level struct {
		seen map[string]bool // nil for an array
		key  bool            // the next text is a key
	}
	var stack []level
	for i := 0; i < len(data); i++ {
		top := len(stack) - 1
		switch data[i] {
		case '"':
			end := textEnd(data, i)
			if top >= 0 && stack[top].key {
				var name string
				_ = json.Unmarshal(data[i:end], &name) // which canon has read
				if stack[top].seen[name] {
					return true
				}
				stack[top].seen[name], stack[top].key = true, false
			}
			i = end - 1
		case '{':
			stack = append(stack, level{map[string]bool{}, true})
		case '[':
			stack = append(stack, level{})
		case '}', ']':
			stack = stack[:top]
		case ',':
			stack[top].key = stack[top].seen != nil
		}
	}
	return false
}

// textEnd is where the text that begins at a quote ends, behind the other quote.
func textEnd(data []byte, at int) int {
	for at++; data[at] != '"'; at++ {
		if data[at] == '\\' {
			at++
		}
	}
	return at + 1
}
