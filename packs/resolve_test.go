package packs_test

import (
	"testing"

	"github.com/arche-ledger/arche/packs"
)

func TestFrequencyTables(t *testing.T) {
	for _, name := range []string{"person", "artist", "place", "place_phrases", "organisation", "organisation_gb", "english"} {
		tab, err := packs.FrequencyTable(name)
		if err != nil {
			t.Fatal(err)
		}
		n, last := 0, ""
		for token, count := range tab.All {
			if token <= last {
				t.Fatalf("%s: %q after %q", name, token, last)
			}
			got, ok := tab.Count(token)
			if !ok || got != count || count <= 0 {
				t.Fatalf("%s: Count(%q) = %v, %v, want %v", name, token, got, ok, count)
			}
			last = token
			n++
		}
		if n != tab.Entries {
			t.Errorf("%s has %d tokens, want %d", name, n, tab.Entries)
		}
		for _, absent := range []string{"", "\x00", "zzzzzzzzzzzzzz", "\xff", last + "x"} {
			if _, ok := tab.Count(absent); ok {
				t.Errorf("%s counts %q", name, absent)
			}
		}
	}
	if _, err := packs.FrequencyTable("planets"); err == nil {
		t.Error("an unknown table is no error")
	}
}

func TestEntityPackVersions(t *testing.T) {
	org, ok, err := packs.FindEntityPack("organisation")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	older, _ := org.Comparators("0.9")
	newer, _ := org.Comparators("0.10")
	if string(older) == string(newer) {
		t.Error("the two versions of organisation are one list")
	}
	person, _, _ := packs.FindEntityPack("person")
	older, _ = person.Comparators("0.9")
	newer, ok = person.Comparators("0.10")
	if !ok || string(older) != string(newer) {
		t.Error("person changed between versions")
	}
	if _, ok := person.Comparators("0.8"); ok {
		t.Error("a version that never was has a list")
	}
}

func BenchmarkLoadPlace(b *testing.B) {
	for b.Loop() {
		packs.ForgetTables()
		if _, err := packs.FrequencyTable("place"); err != nil {
			b.Fatal(err)
		}
	}
}
