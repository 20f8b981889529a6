package resolve_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// second compares two records under crosswalk.v2 and returns the edge, if any.
func second(t *testing.T, entity string, a, b *canon.Object) *resolve.Edge {
	t.Helper()
	res, err := resolve.Compare(t.Context(), resolve.Request{A: []*canon.Object{a}, B: []*canon.Object{b}, Entity: entity,
		Engine: resolve.EngineV2, Threshold: resolve.DefaultThreshold})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Pins.Value("engine"); got != resolve.EngineV2 {
		t.Errorf("pins name engine %v", got)
	}
	if len(res.Edges) == 0 {
		return nil
	}
	return &res.Edges[0]
}

var update = flag.Bool("update", false, "write the decision ids of the second engine anew")

// The ids of the second engine's decisions are frozen like the first's: a change
// that moves one is a third engine.
func checkFrozen(t *testing.T, ids []string) {
	t.Helper()
	path := filepath.Join("testdata", "second-engine.txt")
	got := strings.Join(ids, "\n") + "\n"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:forbidigo // a test's own file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("decisions moved (-want +got):\n%s", diff)
	}
}

func TestSecondEngine(t *testing.T) {
	var ids []string
	n := func(s string) canon.Number { return canon.Number(s) }
	for _, c := range []struct {
		name, entity string
		a, b         *canon.Object
		decision     string // "" for no edge, "edge" for any
		key          string // evidence that is wanted
		value        any    // nil for absent
	}{
		{"spelled-out form", "organisation", canon.Obj("name", "Brelmann Aktiengesellschaft"), canon.Obj("name", "Brelmann AG"), "match", "", nil},
		{"two alphabets", "organisation", canon.Obj("name", `Общество с ограниченной ответственностью "Заря Проект"`), canon.Obj("name", "Zarya Proekt LLC"), "edge", "", nil},
		{"korean", "person", canon.Obj("name", "김철수"), canon.Obj("name", "김철수"), "edge", "name", canon.Float(1)},
		{"arabic", "person", canon.Obj("name", "محمد علي"), canon.Obj("name", "Mohammed Ali"), "edge", "", nil},
		{"chinese", "organisation", canon.Obj("name", "阿里巴巴集团"), canon.Obj("name", "阿里巴巴"), "edge", "", nil},
		{"room numbers", "place", canon.Obj("name", "Room 101", "address", "5 Hill St"), canon.Obj("name", "Room 102", "address", "5 Hill St"), "review", "name_numbers", canon.Float(0)},
		{"series", "organisation", canon.Obj("name", "Kestrel Growth Fund I LP"), canon.Obj("name", "Kestrel Growth Fund II LP"), "review", "", nil},
		{"filler name", "organisation", canon.Obj("name", "Unknown"), canon.Obj("name", "Unknown"), "", "", nil},
		{"filler id", "organisation", canon.Obj("name", "Zungeru Mills Ltd", "registration_id", "N/A"), canon.Obj("name", "Zungeru Mills Limited", "registration_id", "N/A"), "match", "registration_id", nil},
		{"one digit id", "person", canon.Obj("name", "Zubaida Danjuma", "national_id", "00000000"), canon.Obj("name", "Zubaida Danjuma", "national_id", n("0")), "edge", "national_id", nil},
		{"spreadsheet date", "person", canon.Obj("name", "Zubaida Danjuma", "birth_date", n("34395")), canon.Obj("name", "Zubaida Danjuma", "birth_date", "1994-03-02"), "edge", "birth_date", nil},
		{"time stamp", "person", canon.Obj("name", "Zubaida Danjuma", "birth_date", "1994-03-02T23:00:00+01:00"), canon.Obj("name", "Zubaida Danjuma", "birth_date", "1994-03-02"), "edge", "birth_date", canon.Float(1)},
		{"year only", "person", canon.Obj("name", "Zubaida Danjuma", "birth_date", "1994"), canon.Obj("name", "Zubaida Danjuma", "birth_date", "1994-03-02"), "edge", "birth_date", canon.Float(0.6)},
		{"float id", "organisation", canon.Obj("name", "Alpha Mills Ltd", "registration_id", n("12345.0")), canon.Obj("name", "Alpha Mills Limited", "registration_id", "12345"), "edge", "registration_id", canon.Float(1)},
		{"leading zeros", "organisation", canon.Obj("name", "Alpha Mills Ltd", "registration_id", "0012345"), canon.Obj("name", "Alpha Mills Limited", "registration_id", "12345"), "edge", "registration_id", canon.Float(0.5)},
		{"other field name", "person", canon.Obj("full_name", "Zubaida Danjuma", "dob", "1994-03-02"), canon.Obj("name", "Zubaida Danjuma", "birth_date", "1994-03-02"), "match", "birth_date", canon.Float(1)},
		{"titles", "person", canon.Obj("name", "Alhaji Dr. Zubaida Danjuma"), canon.Obj("name", "Zubaida Danjuma"), "match", "name", canon.Float(1)},
		{"generations", "person", canon.Obj("name", "Zubaida Danjuma Jr"), canon.Obj("name", "Zubaida Danjuma Sr"), "review", "name_numbers", canon.Float(0)},
		{"common name", "person", canon.Obj("name", "John Smith"), canon.Obj("name", "John Smith"), "review", "", nil},
		{"common name and birthday", "person", canon.Obj("name", "John Smith", "birth_date", "1980-01-01"), canon.Obj("name", "John Smith", "birth_date", "01.01.1980"), "match", "", nil},
		{"same phone", "person", canon.Obj("name", "John Smith", "phone", "+234 803 555 0199"), canon.Obj("name", "J Smith", "phone", "08035550199"), "review", "phone", canon.Float(1)},
		{"off the globe", "place", canon.Obj("name", "Minna Clinic", "lat", n("95"), "lon", n("6.5")), canon.Obj("name", "Minna Clinic", "lat", n("9.6"), "lon", n("6.5")), "edge", "geo", nil},
		{"flats", "place", canon.Obj("name", "Zungeru Clinic", "address", "Flat 3, 12 Allen Avenue"), canon.Obj("name", "Zungeru Clinic", "address", "Flat 4, 12 Allen Avenue"), "review", "address_premises", canon.Float(0)},
		{"floors", "organisation", canon.Obj("name", "Zungeru Mills", "address", "2nd Floor, 12 Allen Avenue"), canon.Obj("name", "Zungeru Mills", "address", "3rd Floor, 12 Allen Avenue"), "review", "address_premises", canon.Float(0)},
		{"not a number", "place", canon.Obj("name", "Bida Clinic", "lat", "NaN", "lon", n("6")), canon.Obj("name", "Bida Clinic", "lat", n("9"), "lon", n("6")), "edge", "geo", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := second(t, c.entity, c.a, c.b)
			id := "-"
			if e != nil {
				id = e.DecisionID
			}
			ids = append(ids, c.name+"\t"+id)
			switch {
			case e == nil && c.decision != "":
				t.Fatal("no edge")
			case e == nil:
				return
			case c.decision == "":
				t.Fatalf("an edge: %s", encode(t, e.Object()))
			case c.decision != "edge" && e.Decision != c.decision:
				t.Errorf("decision %s, want %s: %s", e.Decision, c.decision, encode(t, e.Object()))
			}
			if c.key != "" && e.Evidence.Value(c.key) != c.value {
				t.Errorf("evidence %s = %v, want %v", c.key, e.Evidence.Value(c.key), c.value)
			}
		})
	}
	checkFrozen(t, ids)
}

func TestSecondEngineNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want string
	}{
		{"محمد علي", "Mohammed Ali", "match"}, {"Muhammad Bello", "Mohammed Bello", "match"}, {"Sidorov Ivan Petrovich", "Ivan Petrovich Sidorov", "match"},
		{"Сидоров Иван", "Ivan Sidorov", "match"}, {"Prof. Ngozi Adeyemi", "Ngozi Adeyemi", "match"}, {"unknown", "unknown", "no_match"},
		{"John Smith Jr", "John Smith Sr", "review"}, {"John Smith III", "John Smith II", "review"}, {"Johnson & Johnson", "Johnson and Johnson", "match"},
		{"Łukasz Øster", "Lukasz Oster", "match"}, {"Grace Mwangi", "Fatima Abdullahi", "no_match"},
	} {
		got, err := resolve.CheckNamesWith(resolve.EngineV2, c.a, c.b)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value("decision") != c.want {
			t.Errorf("%q and %q: %s", c.a, c.b, encode(t, got))
		}
	}
	if _, err := resolve.CheckNamesWith("crosswalk.v9", "a", "b"); err == nil {
		t.Error("an unknown engine is no error")
	}
}

// Pairs and lists are judged by one engine: a pair verdict is the batch's.
func TestSecondEngineAgreesWithItself(t *testing.T) {
	a, b := canon.Obj("name", "Zubaida Danjuma", "dob", "1994-03-02"), canon.Obj("name", "Danjuma, Zubaida", "birth_date", "1994-03-02")
	pair, err := resolve.ComparePair(t.Context(), resolve.PairRequest{A: a, B: b, Entity: "person", Engine: resolve.EngineV2})
	if err != nil {
		t.Fatal(err)
	}
	e := second(t, "person", a, b)
	if e == nil || pair.Score != e.Score || pair.Identity != "same_entity" || e.Decision != "match" {
		t.Errorf("pair %s %v, batch %s", pair.Identity, pair.Score, encode(t, e.Object()))
	}
}

func TestSecondEngineNamesOtherFields(t *testing.T) {
	rec := []*canon.Object{canon.Obj("id", 1, "name", "Zubaida Danjuma", "dob", "1994-03-02", "shoe", 44)}
	res, err := resolve.Compare(t.Context(), resolve.Request{A: rec, B: rec, Entity: "person", Engine: resolve.EngineV2, Threshold: 0.7})
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, res.ReadAs); got != "{\n  \"dob\": \"birth_date\"\n}" {
		t.Errorf("read as %s", got)
	}
	if len(res.IgnoredFields) != 2 {
		t.Errorf("ignored %q", res.IgnoredFields)
	}
}
