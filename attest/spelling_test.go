package attest_test

import (
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
)

// TestSignatureHasOneSpelling: of the 64 characters that could end a token, some
// decode to the same signature; one is accepted.
func TestSignatureHasOneSpelling(t *testing.T) {
	_, _, env := sample(t)
	token := str(env, "jws")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	accepted := 0
	for _, c := range strings.Split(alphabet, "") {
		changed := env.Clone()
		changed.Set("jws", token[:len(token)-1]+c)
		if attest.Verify(attest.Question{Envelope: changed}).OK() {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%d spellings of one signature are accepted", accepted)
	}
}
