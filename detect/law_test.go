package detect_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/detect"
)

// pieces are what random texts are made of: values, words, and the characters
// that hide or part them.
var pieces = []string{
	" ", " ", " ", ", ", ". ", "\n", "\r\n", ": ", "-", "/", "(", ")", "'", "’", "\u200b", "\u00ad", "\u0301", "\u202e", "\x00", "é", "ß", "İ", "名", "👩🏽‍⚕️",
	"NIN ", "BVN ", "TIN ", "ID No. ", "passport ", "SSN ", "NHS ", "born ", "call ", "card ", "account number ", "order ", "near the bank", "opposite ",
	"12345678901", "22156789012", "1234567890", "0803 555 7890", "+44 20 7946 0958", "08035557890", "٠٨٠٣٥٥٥٧٨٩٠", "１２３４５６７８９０１", "4111 1111 1111 1111",
	"DE89 3704 0044 0532 0130 00", "219-09-9999", "943 476 5919", "14/03/1985", "May 5, 2026", "RC 123456", "KAN-12345678901", "GHA-123456789-0", "A012345678Z",
	"Fatima", "Adesola Okonkwo", "O'Brien", "Mpho-Mary", "jean jacket", "grace mwangi", "Lagos", "Port Harcourt", "12 Allen Avenue, Ikeja, Lagos", "P.O. Box 12, Nairobi",
	"a.b@example.com", "józef@example.com", "10.0.0.1", "2001:db8::1:2", "did:key:z6MkqRw3Tb8nVx5y", "0xab12ab12ab12ab12ab12ab12ab12ab12ab12ab12", "N5,000", "€20", "500 naira",
	"https://example.com/u/1", "ISBN 9781861972712", "[NAME:de11776532b6f1b0]", "the", "a", "x", "1", "0", "_",
}

func randomText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 24).Draw(t, "pieces"), "")
}

var jurisdictions = []string{"", "NG", "KE", "ZA", "GH", "GB", "DE", "EU", "US", "SN", "XX"}

// Spans lie in the text, on whole characters, and count them rightly.
func TestSpansAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := randomText(t)
		spans, err := detect.Scan(text, detect.Options{Jurisdiction: rapid.SampledFrom(jurisdictions).Draw(t, "jurisdiction")})
		if err != nil {
			t.Fatal(err)
		}
		sound(t, text, spans)
		if _, err := detect.Entities(text, detect.EntityOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

func sound(t fataler, text string, spans []detect.Span) {
	for _, s := range spans {
		if s.ByteStart < 0 || s.ByteStart >= s.ByteEnd || s.ByteEnd > len(text) {
			t.Fatalf("%q: span %+v lies outside", text, s)
		}
		if !utf8.RuneStart(text[s.ByteStart]) || s.ByteEnd < len(text) && !utf8.RuneStart(text[s.ByteEnd]) && utf8.ValidString(text) {
			t.Fatalf("%q: span %+v cuts a character", text, s)
		}
		if utf8.ValidString(text) && (utf8.RuneCountInString(text[:s.ByteStart]) != s.Start || utf8.RuneCountInString(text[:s.ByteEnd]) != s.End) {
			t.Fatalf("%q: span %+v counts characters wrongly", text, s)
		}
		if s.Confidence <= 0 || s.Confidence > 1 || s.Category == "" || s.Detector == "" {
			t.Fatalf("%q: span %+v", text, s)
		}
	}
}

// values of covered categories, each with what may stand around it.
var values = []struct{ jurisdiction, before, value, category string }{
	{"NG", "NIN ", "12345678901", "PII-2-NIN"},
	{"NG", "call ", "0803 555 7890", "PII-3-PHONE"},
	{"NG", "", "a.b@example.com", "PII-3-EMAIL"},
	{"NG", "host ", "2001:db8::8a2e:370:7334", "PII-8-IP_ADDRESS"},
	{"NG", "card ", "4111 1111 1111 1111", "PII-5-CARD"},
	{"DE", "IBAN ", "DE89 3704 0044 0532 0130 00", "PII-5-BANK_ACCOUNT"},
	{"GB", "NI number ", "AB123456C", "PII-2-NIN"},
	{"US", "SSN ", "219-09-9999", "PII-2-SSN"},
	{"ZA", "ID ", "9103245612083", "PII-2-NATIONAL_ID"},
	{"KE", "", "Fatima", "PII-1-NAME"},
	{"NG", "born ", "14/03/1985", "PII-1-DOB"},
}

// A value is found whatever invisible characters stand in it and whatever
// prose, in whatever script, stands around it.
func TestValuesCannotHide(t *testing.T) {
	prose := []string{"", "the office, ", "Пришло письмо. ", "هاتف ", "名前、", "👩🏽‍⚕️ ", "seen.\n", "\t"}
	hidden := []string{"\u200b", "\u00ad", "\u2060", "\ufeff", "\u200d"}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom(values).Draw(t, "value")
		runes := []rune(v.value)
		for range rapid.IntRange(0, 3).Draw(t, "hidden") {
			i := rapid.IntRange(1, len(runes)-1).Draw(t, "at")
			runes = slices.Insert(runes, i, []rune(rapid.SampledFrom(hidden).Draw(t, "sign"))...)
		}
		lead := rapid.SampledFrom(prose).Draw(t, "lead") + v.before
		text := lead + string(runes) + rapid.SampledFrom([]string{"", ".", ", and so on", "\n", ") "}).Draw(t, "rest")
		spans, err := detect.Scan(text, detect.Options{Jurisdiction: v.jurisdiction})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range spans {
			if s.Category == v.category && s.ByteStart <= len(lead) && s.ByteEnd >= len(lead)+len(string(runes)) {
				return
			}
		}
		t.Fatalf("%q: no %s covers the value: %+v", text, v.category, spans)
	})
}

// Replacing what was found leaves no planted value of a covered category.
func TestNothingPlantedSurvives(t *testing.T) {
	for _, jurisdiction := range []string{"NG", "KE", "ZA", "GH", "GB", "DE", "US"} {
		text, planted := corpus(100_000, national[jurisdiction]...)
		spans, err := detect.Scan(text, detect.Options{Jurisdiction: jurisdiction})
		if err != nil {
			t.Fatal(err)
		}
		covered := make([]bool, len(text))
		for _, s := range spans {
			for i := s.ByteStart; i < s.ByteEnd; i++ {
				covered[i] = true
			}
		}
		own := ownCategories(jurisdiction)
		for _, p := range planted {
			if p.category == "" || !own[p.category] || foreign(p, jurisdiction) {
				continue
			}
			for i := p.start; i < p.end; i++ {
				if !covered[i] && text[i] != ' ' {
					t.Errorf("%s: %s %q: %q is left", jurisdiction, p.kind, text[p.start:p.end], text[i])
					break
				}
			}
		}
	}
}

// A stream gives the text and the spans of one scan, in whatever pieces the
// reader hands it over.
func TestStreamEqualsScan(t *testing.T) {
	text, _ := corpus(2_500_000)
	text = strings.ReplaceAll(text, "clerk", "büro\u0301")
	whole, err := detect.Scan(text, detect.Options{Jurisdiction: "NG"})
	if err != nil {
		t.Fatal(err)
	}
	s := detect.NewStream(iotest.HalfReader(strings.NewReader(text)), detect.Options{Jurisdiction: "NG"})
	var got []detect.Span
	var b strings.Builder
	for {
		c, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if int(c.ByteStart) != b.Len() {
			t.Fatalf("a piece begins at %d after %d bytes", c.ByteStart, b.Len())
		}
		for _, sp := range c.Spans {
			sp.ByteStart += int(c.ByteStart)
			sp.ByteEnd += int(c.ByteStart)
			sp.Start += int(c.RuneStart)
			sp.End += int(c.RuneStart)
			got = append(got, sp)
		}
		b.WriteString(c.Text)
	}
	if b.String() != text {
		t.Fatal("the pieces are not the text")
	}
	order := func(a, b detect.Span) int {
		return 100*(a.ByteStart-b.ByteStart) + 10*(a.ByteEnd-b.ByteEnd) + strings.Compare(a.Category, b.Category)
	}
	slices.SortStableFunc(got, order)
	slices.SortStableFunc(whole, order)
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("spans (-scan +stream):\n%.2000s", diff)
	}
}
