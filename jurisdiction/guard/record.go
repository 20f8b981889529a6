package guard

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// digestContext separates the digests of scanned texts from every other use of
// the key.
const digestContext = "arche protection.scanned input v1"

// Record returns the subject and body of the event that records a scan:
// statute, verdict, how often each category was replaced, and a keyed digest of
// the input. It holds no piece of the text, and without the key nobody can
// confirm a guess of it. at is when the scan was made.
func Record(req Request, res *Result, at time.Time) (subject string, body *canon.Object) {
	var input any
	if req.Key != "" {
		input = digest(req.Key, req.Text)
	}
	var statute, code, verdict any
	if res.Coverage != nil {
		verdict = res.Coverage.Verdict
		if res.Coverage.StatuteID != nil {
			statute = *res.Coverage.StatuteID
		}
		if res.Coverage.Jurisdiction != nil {
			code = shownJurisdiction(*res.Coverage.Jurisdiction)
		}
	}
	counts := &canon.Object{}
	found := res.Counts()
	for _, category := range slices.Sorted(maps.Keys(found)) {
		counts.Set(category, found[category])
	}
	body = canon.Obj("input", input, "statute", statute, "jurisdiction", code, "verdict", verdict,
		"counts", counts, "denied", res.Denied)
	h := blake3.New()
	for _, part := range []any{input, statute, at.UTC().Format("2006-01-02T15:04:05.000000Z")} {
		s, _ := part.(string)
		_, _ = h.WriteString(s)
		_, _ = h.Write([]byte{0})
	}
	return "scan:blake3:" + hex.EncodeToString(h.Sum(nil)), body
}

func digest(key, text string) string {
	derived := make([]byte, 32)
	blake3.DeriveKey(digestContext, []byte(key), derived)
	h, err := blake3.NewKeyed(derived)
	if err != nil {
		panic("guard: derived key: " + err.Error())
	}
	_, _ = h.WriteString(text)
	return hex.EncodeToString(h.Sum(nil))
}

// shownJurisdiction is a code as it may be kept: what is no code could be
// anything.
func shownJurisdiction(code string) any {
	if len(code) > 3 || strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return nil
	}
	return code
}
