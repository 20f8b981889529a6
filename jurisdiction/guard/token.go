package guard

import (
	"encoding/hex"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/crypto/blake2b"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// The token schemes. A token is the keyed BLAKE2b-256 of one spelling of a
// value; the schemes differ in which spellings count as one.
const (
	// SchemePublished spells values exactly as the published program does.
	SchemePublished = "v1"
	// SchemeFolded first drops format characters, folds the digits of every
	// script to ASCII, and writes telephone numbers of the call's own country
	// the national way. Tokens of values that are spelled so already are those
	// of SchemePublished.
	SchemeFolded = "v2"
)

// maxKey is the longest key BLAKE2b takes, in bytes.
const maxKey = 64

// tokens makes the tokens of one call.
type tokens struct {
	key    []byte
	folded bool
	home   packs.PhoneRegion // of the call's country; Code is "" for none
}

func newTokens(key, scheme, jurisdiction string) *tokens {
	if jurisdiction == "" {
		jurisdiction = "NG" // where a bare national number is read when no country was given
	}
	t := &tokens{key: []byte(key), folded: scheme != SchemePublished}
	for _, r := range packs.PhoneRegions() {
		if r.Region == jurisdiction {
			t.home = r
		}
	}
	return t
}

// token returns the 64 hex digits that stand for a value of a category.
// canonical is the detector's one spelling of it, "" when it has none.
func (t *tokens) token(category, value, canonical string) string {
	if t.folded {
		value = detect.Fold(value)
	}
	spelled := spelling(category, value)
	if t.folded && strings.Contains(category, "PHONE") {
		spelled = t.phone(spelled, canonical)
	}
	h, err := blake2b.New(32, t.key)
	if err != nil {
		panic("guard: the key was checked: " + err.Error())
	}
	h.Write([]byte(spelled))
	return hex.EncodeToString(h.Sum(nil))
}

// spelling is the published canonical form of a value of a category.
func spelling(category, value string) string {
	switch {
	case strings.Contains(category, "PHONE"):
		return digitsOf(value)
	case strings.Contains(category, "EMAIL"):
		return text.Lower(text.Strip(value))
	case strings.Contains(category, "NAME"):
		return text.Norm(value)
	case strings.HasPrefix(category, "PII-2"), strings.HasPrefix(category, "PII-5"):
		return text.Nid(value)
	}
	return text.Norm(value)
}

// phone returns the digits that stand for a telephone number: the national
// form for a number of the call's country, otherwise as it was written.
func (t *tokens) phone(written, e164 string) string {
	international := strings.TrimPrefix(e164, "+")
	if international == "" || t.home.Code == "" {
		return written
	}
	if national, ok := strings.CutPrefix(international, t.home.Code); ok {
		return t.home.Trunk + national
	}
	bare := strings.TrimPrefix(written, "00")
	for n := 1; n <= 3 && n < len(international); n++ {
		if code := international[:n]; callingCodes()[code] {
			if strings.HasPrefix(bare, code) && strings.HasSuffix(bare, international[n:]) {
				return international
			}
		}
	}
	return written
}

// callingCodes are the codes in use; none begins another.
var callingCodes = sync.OnceValue(func() map[string]bool {
	codes := map[string]bool{}
	for _, r := range packs.PhoneRegions() {
		codes[r.Code] = true
	}
	return codes
})

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Nd, r) {
			return r
		}
		return -1
	}, s)
}

// label is the word that stands for a category in a placeholder.
func label(category string) string { return category[strings.LastIndexByte(category, '-')+1:] }

// placeholder is what stands in the text for a value.
func placeholder(category, token string) string {
	return "[" + label(category) + ":" + token[:16] + "]"
}
