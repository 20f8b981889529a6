package jurisdiction_test

import (
	"testing"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
)

func TestDetectGolden(t *testing.T) {
	for _, v := range vectors(t, "detect_pii") {
		doc, ok1 := v.text("text")
		code, ok2 := v.text("jurisdiction")
		if _, given := v.Args["text"]; !ok1 || !ok2 || !given {
			continue
		}
		code, statute := v.ceiling().Apply(code, "")
		found, err := jurisdiction.Detect(doc, code, statute, "")
		if _, wantError := v.Want["error"]; wantError {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: want a not-found fault, got %v", v.ID, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.ID, err)
			continue
		}
		v.check(t, found)
	}
}
