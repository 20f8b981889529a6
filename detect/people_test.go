package detect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/detect"
)

// TestNamesStopAtStreets holds that a known name draws in the words beside it,
// but not those that name a street.
func TestNamesStopAtStreets(t *testing.T) {
	for text, want := range map[string][]string{
		"meet Adeola Zabrinski today":                            {"Adeola", "Zabrinski"},
		"at Plot 5, Adeola Odeku Street, Victoria Island, Lagos": {"Adeola", "Victoria"},
		"at Plot 5, Adeola Hodeku Odeku Street, Lagos":           {"Adeola"},
		"Zabrinski Adeola Street":                                {"Adeola"},
		"Adeola Zabrinski, Street Cleaner":                       {"Adeola", "Zabrinski"},
	} {
		spans, err := detect.Scan(text, detect.Options{Jurisdiction: "NG"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range spans {
			if s.Category == "PII-1-NAME" {
				got = append(got, text[s.Start:s.End])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
