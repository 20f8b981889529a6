package detect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/packs"
)

// Every pattern beyond the published ones carries examples: a valid one is
// found beside each of its cues, and alone where the pattern says so; an
// invalid one is not taken for its category.
func TestWorldPatterns(t *testing.T) {
	for _, p := range packs.WorldIDs() {
		if len(p.Valid) == 0 || len(p.Cues) == 0 {
			t.Errorf("%s: no example or no cue", p.Key)
		}
		for _, v := range p.Valid {
			for _, c := range p.Cues {
				head, _, _ := strings.Cut(c, " [")
				text := "The record says " + head + " " + v + " and no more."
				if !covers(t, text, "XX", p.Category, v) {
					t.Errorf("%s: %q is not found after the cue %q", p.Key, v, head)
				}
			}
		}
		for _, v := range p.Invalid {
			head, _, _ := strings.Cut(p.Cues[0], " [")
			text := "The record says " + head + " " + v + " and no more."
			if covers(t, text, "XX", p.Category, v) {
				t.Errorf("%s: %q is found", p.Key, v)
			}
		}
		for _, j := range p.Bare {
			alone := slices.ContainsFunc(p.Valid, func(v string) bool {
				return covers(t, "The record says "+v+" and no more.", j, p.Category, v)
			})
			if !alone {
				t.Errorf("%s: no example is found alone in %s", p.Key, j)
			}
		}
	}
}

// covers tells whether a span of a category covers the value exactly.
func covers(t *testing.T, text, jurisdiction, category, value string) bool {
	t.Helper()
	spans, err := detect.Scan(text, detect.Options{Jurisdiction: jurisdiction})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(spans, func(s detect.Span) bool {
		return s.Category == category && text[s.ByteStart:s.ByteEnd] == value
	})
}

func TestBankAndBirth(t *testing.T) {
	for _, c := range []struct {
		text, jurisdiction, category, value string
		want                                bool
	}{
		{"Card 4111 1111 1111 1111 exp", "NG", "PII-5-CARD", "4111 1111 1111 1111", true},
		{"card 4111 1111 1111 1112 exp", "NG", "PII-5-CARD", "4111 1111 1111 1112", false},
		{"3782 822463 10005", "GB", "PII-5-CARD", "3782 822463 10005", true},
		{"5500-0000-0000-0004", "US", "PII-5-CARD", "5500-0000-0000-0004", true},
		{"order 4111111111111111", "NG", "PII-5-CARD", "4111111111111111", false},
		{"at 1748503543012 today", "US", "PII-5-CARD", "1748503543012", false},
		{"0.4111111111111111", "US", "PII-5-CARD", "4111111111111111", false},
		{"DE89 3704 0044 0532 0130 00 failed", "DE", "PII-5-BANK_ACCOUNT", "DE89 3704 0044 0532 0130 00", true},
		{"gb29NWBK60161331926819.", "GB", "PII-5-BANK_ACCOUNT", "gb29NWBK60161331926819", true},
		{"DE88 3704 0044 0532 0130 00", "DE", "PII-5-BANK_ACCOUNT", "DE88 3704 0044 0532 0130 00", false},
		{"FR14 2004 1010 0505 0001 3M02 606", "FR", "PII-5-BANK_ACCOUNT", "FR14 2004 1010 0505 0001 3M02 606", true},
		{"Born 14/03/1985 in", "NG", "PII-1-DOB", "14/03/1985", true},
		{"Date of birth:\n1985-03-14", "NG", "PII-1-DOB", "1985-03-14", true},
		{"born on the 3rd of May 1985", "NG", "PII-1-DOB", "3rd of May 1985", true},
		{"geboren am 14. März 1985", "DE", "PII-1-DOB", "14. März 1985", true},
		{"née le 1er avril 1990", "FR", "PII-1-DOB", "1er avril 1990", true},
		{"DOB March 14, 1985", "US", "PII-1-DOB", "March 14, 1985", true},
		{"14.03.85 (DOB)", "DE", "PII-1-DOB", "14.03.85", true},
		{"DOB 19850314;", "US", "PII-1-DOB", "19850314", true},
		{"met on 14/03/1985", "NG", "PII-1-DOB", "14/03/1985", false},
		{"see https://wiki.example/pages/9434765919/Runbook", "GB", "PII-2-NHS", "9434765919", false},
		{"1748503543012 please check", "", "PII-2-CNI", "1748503543012", false},
		{"reach 2001:db8::8a2e:370:7334: no answer", "", "PII-8-IP_ADDRESS", "2001:db8::8a2e:370:7334", true},
		{"64:ff9b::192.0.2.33 here", "", "PII-8-IP_ADDRESS", "64:ff9b::192.0.2.33", true},
		{"std::vector", "", "PII-8-IP_ADDRESS", "d::", false},
	} {
		if got := covers(t, c.text, c.jurisdiction, c.category, c.value); got != c.want {
			t.Errorf("%q (%s): %s at %q is %v, want %v", c.text, c.jurisdiction, c.category, c.value, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		text, value string
		want        bool
	}{
		{"MWANGI GRACE phoned", "MWANGI", true},
		{"grace mwangi phoned", "mwangi", true},
		{"will may call in june with grace", "grace", false},
		{"Patient Adébáyọ̀ came", "Adébáyọ̀", true},
		{"Patient Ade\u0301ba\u0301yo\u0323\u0300 came", "Ade\u0301ba\u0301yo\u0323\u0300", true},
		{"Okonkwo’s shop", "Okonkwo", true},
		{"O'Brien called", "O'Brien", true},
		{"Jean Dupont came", "Dupont", true},
		{"we met Brunhild Quastenberg at noon", "Quastenberg", true},
		{"Mr Haxby left", "Haxby", true},
		{"Patient Casey Example", "Example", false},
		{"a jean jacket", "jean", false},
		{"with Rainfall Measurement", "Rainfall", false},
	} {
		if got := covers(t, c.text, "NG", "PII-1-NAME", c.value); got != c.want {
			t.Errorf("%q: name %q is %v, want %v", c.text, c.value, got, c.want)
		}
	}
}
