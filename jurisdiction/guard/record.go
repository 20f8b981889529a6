package guard

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/jurisdiction"
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
	return record(input, res.Coverage, res.Counts(), res.Denied, at)
}

// RecordCopy is Record for what Copy did.
func (g *Guard) RecordCopy(sum Summary, at time.Time) (subject string, body *canon.Object) {
	return record(sum.Digest, g.coverage, sum.Counts, false, at)
}

func record(input any, plan *jurisdiction.Coverage, found map[string]int, denied bool, at time.Time) (subject string, body *canon.Object) {
	var statute, code, verdict any
	if plan != nil {
		verdict = plan.Verdict
		if plan.StatuteID != nil {
			statute = *plan.StatuteID
		}
		if plan.Jurisdiction != nil {
			code = shownJurisdiction(*plan.Jurisdiction)
		}
	}
	counts := &canon.Object{}
	for _, category := range slices.Sorted(maps.Keys(found)) {
		counts.Set(category, found[category])
	}
	body = canon.Obj("input", input, "statute", statute, "jurisdiction", code, "verdict", verdict,
		"counts", counts, "denied", denied)
	h := blake3.New()
	for _, part := range []any{input, statute, at.UTC().Format("2006-01-02T15:04:05.000000Z")} {
		s, _ := part.(string)
		_, _ = h.WriteString(s)
		_, _ = h.Write([]byte{0})
	}
	return "scan:blake3:" + hex.EncodeToString(h.Sum(nil)), body
}

func digest(key, text string) string {
	h := newDigest([]byte(key))
	_, _ = h.WriteString(text)
	return hex.EncodeToString(h.Sum(nil))
}

func newDigest(key []byte) *blake3.Hasher {
	derived := make([]byte, 32)
	blake3.DeriveKey(digestContext, key, derived)
	h, err := blake3.NewKeyed(derived)
	if err != nil {
		panic("guard: derived key: " + err.Error())
	}
	return h
}

// shownJurisdiction is a code as it may be kept: what is no code could be
// anything.
func shownJurisdiction(code string) any {
	if len(code) > 3 || strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return nil
	}
	return code
}
