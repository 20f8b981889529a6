package detect_test

import (
	"testing"

	"github.com/nyaruka/phonenumbers"

	"github.com/arche-ledger/arche/detect"
)

// The numbering table is made from the metadata of a published library: that
// library's own examples of every region must be found, abroad and at home.
func TestPhonesOfAllRegions(t *testing.T) {
	abroad, home, regions := 0, 0, 0
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.FIXED_LINE, phonenumbers.MOBILE} {
			n := phonenumbers.GetExampleNumberForType(region, kind)
			if n == nil {
				continue
			}
			regions++
			e164 := phonenumbers.Format(n, phonenumbers.E164)
			if phone(t, "call "+phonenumbers.Format(n, phonenumbers.INTERNATIONAL)+" now", "XX") == e164 {
				abroad++
			} else if len(e164) > 8 {
				t.Errorf("%s: %s is not found in international form", region, e164)
			}
			if phone(t, "call "+phonenumbers.Format(n, phonenumbers.NATIONAL)+" now", region) == e164 {
				home++
			}
		}
	}
	if abroad < regions*97/100 || home < regions*91/100 {
		t.Errorf("of %d examples %d are found in international and %d in national form", regions, abroad, home)
	}
}

// phone returns the canonical form of the only telephone number in a text.
func phone(t *testing.T, text, jurisdiction string) string {
	t.Helper()
	spans, err := detect.Scan(text, detect.Options{Jurisdiction: jurisdiction})
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, s := range spans {
		if s.Category == "PII-3-PHONE" {
			if found != "" {
				return "several"
			}
			found = s.Canonical
		}
	}
	return found
}

func TestPhoneForms(t *testing.T) {
	for _, c := range []struct{ text, jurisdiction, want string }{
		{"0803 555 7890", "NG", "+2348035557890"},
		{"+234 803 555 7890", "NG", "+2348035557890"},
		{"234-803-555-7890", "NG", "+2348035557890"},
		{"+234(0)8035557890", "NG", "+2348035557890"},
		{"00234 803 555 7890", "NG", "+2348035557890"},
		{"(0803) 555 7890", "NG", "+2348035557890"},
		{"٠٨٠٣٥٥٥٧٨٩٠", "NG", "+2348035557890"},
		{"0803‑555‑7890", "NG", "+2348035557890"},
		{"tel:0803-555-7890;ext=12", "NG", "+2348035557890"},
		{"Invoice 12345 0803 555 7890", "NG", "+2348035557890"},
		{"call +44 20 7946 0958 today", "GB", "+442079460958"},
		{"ring 07700 900123 today", "GB", "+447700900123"},
		{"(212) 555-0142", "US", "+12125550142"},
		{"Tel. 030 901820", "DE", "+4930901820"},
		{"email.133@example.com, 989null, HEB1714", "NG", ""},
		{"batch 10023456 of 2024 1130 0917, OMB No. 1545-0008", "NG", ""},
		{"on 2026-05-22 10:30 and 01-02-2026", "NG", ""},
		{"BVN 22365348224", "NG", ""},
		{"order 0712345678", "NG", ""},
		{"0.12345678", "NG", ""},
		{"(212) 555-0142", "", "+12125550142"},
		{"call (212) 555-0142", "NG", "+12125550142"},
		{"Boston, MA 02110-1301", "DE", ""},
		{"Clause 252.227-7013", "US", ""},
	} {
		if got := phone(t, c.text, c.jurisdiction); got != c.want {
			t.Errorf("%q (%s): %q, want %q", c.text, c.jurisdiction, got, c.want)
		}
	}
}
