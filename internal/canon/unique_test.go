package canon_test

import (
	"errors"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
)

// TestUnique: a key that stands twice in one object is refused when that is asked,
// at any depth and in any spelling; else the last value counts.
func TestUnique(t *testing.T) {
	for text, repeated := range map[string]bool{
		`{"a":1,"b":2}`:                         false,
		`{"a":1,"a":1}`:                         true,
		`{"a":1,"\u0061":2}`:                    true,
		`{"":1,"":2}`:                           true,
		`{"a":{"a":{"a":1}},"b":[{"a":1}]}`:     false,
		`[{"x":[{"k":1},{"k":1,"l":2,"k":3}]}]`: true,
	} {
		_, err := canon.Parse([]byte(text), canon.Limits{Unique: true})
		if errors.Is(err, canon.ErrRepeated) != repeated || !repeated && err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := canon.Parse([]byte(text), canon.Limits{}); err != nil {
			t.Errorf("%s, not asked: %v", text, err)
		}
	}
}
