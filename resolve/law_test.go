package resolve_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

var (
	drawWord = rapid.SampledFrom([]string{"Kijani", "Tea", "Exporters", "Ltd", "Limited", "PLC", "Mohammed", "Muhammad", "Ngozi", "Adeyemi",
		"Central", "Cooperative", "Hospital", "Clinic", "Kano", "Mary's", "King's", "Gate", "of", "Fire", "Mountain", "QX-200A", "12-pack",
		"84 inch", "red", "queen", "GmbH", "Société", "İstanbul", "ß", "김철수", "محمد", "ﬁne", "Acme™", "é́", "AB12", "\t", "(Kano)", "Obi"})
	drawName   = rapid.Custom(func(t *rapid.T) any { return joinWords(rapid.SliceOfN(drawWord, 0, 5).Draw(t, "words")) })
	drawOdd    = rapid.SampledFrom([]any{nil, "", canon.Number("0"), canon.Number("12.0"), true, []any{"a"}, canon.Obj("x", "y")})
	drawID     = rapid.SampledFrom([]any{"C-12", "c12", canon.Number("12"), canon.Number("12.0"), "N/A", "!!", "RC 7", nil})
	drawDate   = rapid.SampledFrom([]any{"1990-01-02", "02/01/1990", "1990", "19900102", "n/a", canon.Number("34395")})
	drawPhone  = rapid.SampledFrom([]any{"+234 803 555 0199", "08035550199", "0700", ""})
	drawCoord  = rapid.SampledFrom([]any{canon.Number("6.5"), canon.Number("6.5001"), "6.51", canon.Number("9"), nil, "x", true})
	drawPlace  = rapid.SampledFrom([]any{"12 Allen Avenue, Ikeja, Lagos", "12B Allen Ave, Lagos", "opposite the Central Mosque, Kano", "P.O. Box 12, Nairobi", "Unit 5"})
	drawAdmin  = rapid.SampledFrom([]any{canon.Obj("admin1", "Kano"), canon.Obj("admin1", "Kano", "admin2", "Dala"), canon.Obj("admin1", "Lagos"), nil})
	drawClass  = rapid.SampledFrom([]any{"SITE", "site", "HQ"})
	drawEntity = rapid.SampledFrom(resolve.Entities())
)

func joinWords(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += " "
		}
		out += w
	}
	return out
}

// drawRecord makes a record without an id.
var drawRecord = rapid.Custom(func(t *rapid.T) *canon.Object {
	o := canon.NewObject()
	for _, f := range []struct {
		name string
		gen  *rapid.Generator[any]
	}{{"name", drawName}, {"address", drawPlace}, {"registration_id", drawID}, {"national_id", drawID}, {"mbid", drawID}, {"birth_date", drawDate},
		{"phone", drawPhone}, {"lat", drawCoord}, {"lon", drawCoord}, {"admin_path", drawAdmin}, {"entity_class", drawClass}} {
		switch rapid.IntRange(0, 9).Draw(t, f.name+"?") {
		case 0, 1, 2, 3:
			o.Set(f.name, f.gen.Draw(t, f.name))
		case 4:
			if f.name != "admin_path" {
				o.Set(f.name, drawOdd.Draw(t, f.name))
			}
		default:
			if f.name == "name" {
				o.Set(f.name, f.gen.Draw(t, f.name))
			}
		}
	}
	return o
})

func drawList(t *rapid.T, label string, most int) []*canon.Object {
	list := rapid.SliceOfN(drawRecord, 0, most).Draw(t, label)
	for i, rec := range list {
		rec.Set("id", fmt.Sprintf("%s%d", label, i))
	}
	return list
}

func encode(t interface{ Fatal(...any) }, v any) string {
	b, err := canon.Indent(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A corpus answers for a newcomer what Compare answers for it against all
// records in order, whatever was matched before.
func TestCorpusEqualsCompare(t *testing.T) {
	for _, engine := range []string{resolve.EngineV1, resolve.EngineV2} {
		for _, version := range resolveVersions {
			t.Run(engine+"/"+version, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { checkCorpus(t, engine, version) })
			})
		}
	}
}

var resolveVersions = []string{resolve.PackVersionDefault, resolve.PackVersion010}

func checkCorpus(t *rapid.T, engine, version string) {
	entity := drawEntity.Draw(t, "entity")
	corpus, err := resolve.NewCorpus(entity, version, engine)
	if err != nil {
		t.Fatal(err)
	}
	var all []*canon.Object
	for i, rec := range rapid.SliceOfN(drawRecord, 1, 12).Draw(t, "records") {
		if rapid.Bool().Draw(t, "match") {
			got, err := corpus.Match(t.Context(), rec)
			if err != nil {
				t.Fatal(err)
			}
			want, err := resolve.Compare(t.Context(), resolve.Request{A: []*canon.Object{rec}, B: all, Entity: entity,
				PackVersion: version, Engine: engine, Threshold: resolve.DefaultThreshold})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(encode(t, want.Answer()), encode(t, got.Answer())); diff != "" {
				t.Fatalf("corpus differs (-compare +corpus):\n%s", diff)
			}
		}
		id := fmt.Sprintf("b%d", i)
		corpus.Add(id, rec)
		stored := rec.Clone()
		stored.Set("id", id)
		all = append(all, stored)
	}
	if corpus.Len() != len(all) {
		t.Fatalf("corpus has %d records, want %d", corpus.Len(), len(all))
	}
}

// The number of processors changes no byte.
func TestSameBytesOnAnyProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	rapid.Check(t, func(t *rapid.T) {
		req := resolve.Request{A: drawList(t, "a", 80), B: drawList(t, "b", 40), Entity: drawEntity.Draw(t, "entity"), Threshold: 0.6}
		var answers []string
		for _, n := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(n)
			res, err := resolve.Compare(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, encode(t, res.Answer()))
		}
		if len(slices.Compact(answers)) != 1 {
			t.Fatal("the answer depends on the number of processors")
		}
	})
}

// Pruning and screening never change what is surfaced: an entity call without
// blocking surfaces, at a lower threshold, all that it surfaces at a higher one.
func TestLowerThresholdSurfacesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := resolve.Request{A: drawList(t, "a", 6), B: drawList(t, "b", 6), Entity: drawEntity.Draw(t, "entity"), Block: resolve.BlockNone, Threshold: -1}
		all, err := resolve.Compare(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		req.Threshold = rapid.Float64Range(0.2, 0.9).Draw(t, "threshold")
		some, err := resolve.Compare(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		type pair struct{ i, j int }
		scores := make(map[pair]float64)
		for _, e := range all.Edges {
			scores[pair{e.I, e.J}] = e.Score
		}
		for _, e := range some.Edges {
			if s, ok := scores[pair{e.I, e.J}]; !ok || s != e.Score {
				t.Fatalf("pair %d,%d scores %v alone and %v among all", e.I, e.J, e.Score, s)
			}
			delete(scores, pair{e.I, e.J})
		}
		for p, s := range scores {
			if s > req.Threshold-resolve.ReviewMargin+0.0001 {
				t.Fatalf("pair %v with score %v was not surfaced at threshold %v", p, s, req.Threshold)
			}
		}
	})
}

// Words that many records hold find candidates only in pairs; past the bound on
// pairs a key is given up and counted, in a corpus as in a comparison.
func TestCorpusWithCommonWords(t *testing.T) {
	first := []string{"central", "union", "general", "royal", "new"}
	second := []string{"trading", "school", "clinic", "stores", "tea", "mills", "farm"}
	third := []string{"kano", "lagos", "accra", "nairobi", "kumasi", "ikeja", "jos", "kampala", "dakar", "lome", "ibadan"}
	corpus, err := resolve.NewCorpus("organisation", "", "")
	if err != nil {
		t.Fatal(err)
	}
	var all []*canon.Object
	for i := range 6000 {
		rec := canon.Obj("name", first[i%5]+" "+second[i%7]+" "+third[i%11])
		id := fmt.Sprint("b", i)
		corpus.Add(id, rec)
		stored := rec.Clone()
		stored.Set("id", id)
		all = append(all, stored)
	}
	for _, name := range []string{"Central Trading Kano", "Royal Farm Dakar", "New Lome", "Union School", "Tea", "unheard of", "Jos Mills"} {
		rec := canon.Obj("name", name)
		got, err := corpus.Match(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		want, err := resolve.Compare(t.Context(), resolve.Request{A: []*canon.Object{rec}, B: all, Entity: "organisation", Threshold: resolve.DefaultThreshold})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(encode(t, want.Answer()), encode(t, got.Answer())); diff != "" {
			t.Errorf("%s (-compare +corpus):\n%s", name, diff)
		}
	}
}

// The order of the rows changes no decision, no id and no count.
func TestSameDecisionsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := resolve.Request{A: drawList(t, "a", 80), B: drawList(t, "b", 40), Entity: drawEntity.Draw(t, "entity"), Threshold: 0.6,
			Engine: rapid.SampledFrom([]string{resolve.EngineV1, resolve.EngineV2}).Draw(t, "engine")}
		said := func() string {
			res, err := resolve.Compare(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			edges := make([]string, len(res.Edges))
			for i := range res.Edges {
				edges[i] = encode(t, res.Edges[i].Object())
			}
			slices.Sort(edges)
			res.Edges = nil
			return strings.Join(edges, "\n") + encode(t, res.Answer())
		}
		before := said()
		for _, list := range []*[]*canon.Object{&req.A, &req.B} {
			*list = rapid.Permutation(*list).Draw(t, "order")
		}
		if after := said(); after != before {
			t.Fatalf("other rows first:\n%s\nbefore:\n%s", after, before)
		}
	})
}

// How rows are laid out changes no byte.
func TestWideRowsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := resolve.Request{A: drawList(t, "a", 60), B: drawList(t, "b", 60), Entity: drawEntity.Draw(t, "entity"),
			Threshold:   rapid.Float64Range(0.3, 0.9).Draw(t, "threshold"),
			Engine:      rapid.SampledFrom([]string{resolve.EngineV1, resolve.EngineV2}).Draw(t, "engine"),
			PackVersion: rapid.SampledFrom([]string{resolve.PackVersionDefault, resolve.PackVersion010}).Draw(t, "packs")}
		said := func() string {
			res, err := resolve.Compare(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			return encode(t, res.Answer())
		}
		short, wide := said(), ""
		resolve.WithWideRows(func() { wide = said() })
		if short != wide {
			t.Fatalf("wide rows give\n%s\nshort ones\n%s", wide, short)
		}
	})
}
