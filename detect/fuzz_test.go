package detect

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// fuzz seeds a target with a few texts of each kind.
func fuzz(f *testing.F, check func(t *testing.T, text string)) {
	for _, s := range []string{
		"", "NIN 12345\u200b678901, card 4111 1111 1111 1111, +234(0)8035557890", "Ade\u0301ye\u0323mi\u0301 O'Brien’s jean", "a@b.co 10.0.0.1 ::ffff:192.0.2.1",
		"Plot 14, 12B Allen Avenue, Ikeja, Lagos, NW1 6XE; P.O. Box 12, Nairobi; near the central mosque", "did:key:z6Mk 0xab bc1q N5,000 500 naira May 5, 2026",
		"\xff\xfe\x00e\u0301", "٠٨٠٣ ٥٥٥ ٧٨٩٠ １２", strings.Repeat("a-", 50),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= 1<<12 {
			check(t, text)
		}
	})
}

// within fails on a stretch outside the view or out of order.
func within(t *testing.T, w *view, s, e int) {
	t.Helper()
	if s < 0 || s >= e || e > len(w.s) {
		t.Fatalf("%q: [%d,%d) of %d", w.s, s, e, len(w.s))
	}
}

func fuzzFound(f *testing.F, scan func(x *lexed) []found) {
	fuzz(f, func(t *testing.T, text string) {
		w := newView(text, true)
		for _, h := range scan(lex(w)) {
			within(t, w, h.s, h.e)
		}
		if limit := 600*len(text) + 4096; w.work > limit {
			t.Fatalf("%q: %d looks at %d bytes", text, w.work, len(text))
		}
	})
}

func FuzzView(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		for _, drop := range []bool{true, false} {
			w := newView(text, drop)
			last := 0
			for p := 0; p < len(w.s); p++ {
				if s := w.origStart(p); s < last || s > len(text) {
					t.Fatalf("%q: position %d comes from %d after %d", text, p, s, last)
				} else {
					last = s
				}
				if e := w.origEnd(p + 1); e < last || e > len(text) {
					t.Fatalf("%q: position %d ends at %d", text, p, e)
				}
			}
			if !drop && utf8.ValidString(text) && isASCIIText(text) && w.s != text {
				t.Fatalf("%q changed", text)
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	fuzzFound(f, func(x *lexed) []found { return nameFound(x.people(x.names())) })
}
func FuzzLocations(f *testing.F) {
	fuzzFound(f, func(x *lexed) []found { return plain(x.locations(), catLocation, 1) })
}
func FuzzEmails(f *testing.F) {
	fuzzFound(f, func(x *lexed) []found { return plain(x.emails(), catEmail, 1) })
}
func FuzzIP(f *testing.F)        { fuzzFound(f, (*lexed).addressesIP) }
func FuzzDigital(f *testing.F)   { fuzzFound(f, (*lexed).digital) }
func FuzzAddresses(f *testing.F) { fuzzFound(f, (*lexed).addresses) }
func FuzzPhones(f *testing.F) {
	fuzzFound(f, func(x *lexed) []found { return x.phones("EU", nil, nil) })
}
func FuzzIDs(f *testing.F)   { fuzzFound(f, func(x *lexed) []found { return x.africa("") }) }
func FuzzCards(f *testing.F) { fuzzFound(f, (*lexed).cards) }
func FuzzIBANs(f *testing.F) { fuzzFound(f, (*lexed).ibans) }
func FuzzBirths(f *testing.F) {
	fuzzFound(f, (*lexed).births)
}
func FuzzWorldIDs(f *testing.F) { fuzzFound(f, func(x *lexed) []found { return x.worldIDs("EU") }) }

func FuzzEntities(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		w := newView(text, true)
		for _, e := range entitiesOf(w, nil) {
			within(t, w, e.s, e.e)
		}
	})
}

func FuzzScan(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		for _, s := range scanAll(text, "NG") {
			if s.ByteStart < 0 || s.ByteStart >= s.ByteEnd || s.ByteEnd > len(text) || s.Start >= s.End {
				t.Fatalf("%q: %+v", text, s)
			}
		}
	})
}
