package resolve_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

func partOf(t interface{ Fatal(...any) }, entity, version, engine string, list []*canon.Object) []byte {
	m, err := resolve.NewPartMaker(entity, version, engine)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range list {
		if err := m.Add(rec); err != nil {
			t.Fatal(err)
		}
	}
	return m.Bytes("these records")
}

func attach(t interface{ Fatal(...any) }, c *resolve.Corpus, part []byte) {
	p, err := resolve.OpenPart(part)
	if err != nil {
		t.Fatal(err)
	}
	from := c.Len()
	if err := c.Attach(p, func(row int) string { return fmt.Sprint("b", from+row) }); err != nil {
		t.Fatal(err)
	}
}

// Records in parts, however they are cut, and records added one by one behind
// them are one corpus: every answer is Compare's.
func TestPartsEqualCompare(t *testing.T) {
	for _, engine := range []string{resolve.EngineV1, resolve.EngineV2} {
		for _, version := range resolveVersions {
			t.Run(engine+"/"+version, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { checkParts(t, engine, version) })
			})
		}
	}
}

func checkParts(t *rapid.T, engine, version string) {
	entity := drawEntity.Draw(t, "entity")
	records := rapid.SliceOfN(drawRecord, 2, 14).Draw(t, "records")
	corpus, err := resolve.NewCorpus(entity, version, engine)
	if err != nil {
		t.Fatal(err)
	}
	var all []*canon.Object
	for i, rec := range records {
		stored := rec.Clone()
		stored.Set("id", fmt.Sprint("b", i))
		all = append(all, stored)
	}
	match := func(rec *canon.Object) {
		got, err := corpus.Match(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		want, err := resolve.Compare(t.Context(), resolve.Request{A: []*canon.Object{rec}, B: all[:corpus.Len()], Entity: entity,
			PackVersion: version, Engine: engine, Threshold: resolve.DefaultThreshold})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(encode(t, want.Answer()), encode(t, got.Answer())); diff != "" {
			t.Fatalf("corpus differs (-compare +corpus):\n%s", diff)
		}
	}
	for parts := rapid.IntRange(0, 3).Draw(t, "parts"); parts > 0; parts-- {
		n := rapid.IntRange(0, len(records)-corpus.Len()).Draw(t, "rows")
		attach(t, corpus, partOf(t, entity, version, engine, records[corpus.Len():corpus.Len()+n]))
		if rapid.Bool().Draw(t, "match between") {
			match(drawRecord.Draw(t, "newcomer"))
		}
	}
	for i := corpus.Len(); i < len(records); i++ {
		corpus.Add(fmt.Sprint("b", i), records[i])
		if rapid.Bool().Draw(t, "match after") {
			match(drawRecord.Draw(t, "newcomer"))
		}
	}
	match(records[0])
	row := rapid.IntRange(0, len(records)-1).Draw(t, "row")
	packed, err := corpus.Pack(records[row])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed, corpus.Compared(row)) {
		t.Fatalf("row %d holds %q, the record packs to %q", row, corpus.Compared(row), packed)
	}
}

// Words over the bound on pairs are found and paired across parts.
func TestPartsWithCommonWords(t *testing.T) {
	first := []string{"central", "union", "general", "royal", "new"}
	second := []string{"trading", "school", "clinic", "stores", "tea", "mills", "farm"}
	third := []string{"kano", "lagos", "accra", "nairobi", "kumasi", "ikeja", "jos", "kampala", "dakar", "lome", "ibadan"}
	whole, err := resolve.NewCorpus("person", "", "")
	if err != nil {
		t.Fatal(err)
	}
	parted, err := resolve.NewCorpus("person", "", "")
	if err != nil {
		t.Fatal(err)
	}
	var list []*canon.Object
	for i := range 6000 {
		rec := canon.Obj("name", first[i%5]+" "+second[i%7]+" "+third[i%11], "note", i)
		list = append(list, rec)
		whole.Add(fmt.Sprint("b", i), rec)
	}
	for from := 0; from < 5000; from += 1250 {
		attach(t, parted, partOf(t, "person", "", "", list[from:from+1250]))
	}
	for i := 5000; i < len(list); i++ {
		parted.Add(fmt.Sprint("b", i), list[i])
	}
	for _, name := range []string{"Central Trading Kano", "Royal Farm Dakar", "New Lome", "Union School", "Tea", "unheard of", "Jos Mills"} {
		want, err := whole.Match(t.Context(), canon.Obj("name", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parted.Match(t.Context(), canon.Obj("name", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(encode(t, want.Answer()), encode(t, got.Answer())); diff != "" {
			t.Errorf("%s (-whole +parts):\n%s", name, diff)
		}
	}
}

// Rows that a bound gives up unread are those that would not have surfaced:
// people of a few streets, with names, dates and numbers of every form.
func TestRowsGivenUpUnread(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a fixed sequence
	pick := func(list ...any) any { return list[random.IntN(len(list))] }
	person := func() *canon.Object {
		o := canon.NewObject()
		set := func(key string, v any) {
			if v != nil {
				o.Set(key, v)
			}
		}
		set("name", pick("Ada Obi", "Ada Eze", "Bola Obi", "Chidi Nwosu", "Café Étienne", "ADA  OBI", "李 小龍", "O'Brien", 7, nil, "N/A"))
		set("birth_date", pick("1990-01-02", "1990-01-03", "1991", "02/01/1990", 19900102, "1990-02-01", nil, "unknown"))
		set("dob", pick(nil, nil, "1990-01-02"))
		set("address", pick("12 Marina Road, Lagos", "14 Marina Road, Lagos", "3 Broad Street, Lagos", nil))
		set("phone", pick(nil, nil, "08031234567", "+2348031234567"))
		set("email", pick(nil, nil, "ada@obi.ng"))
		return o
	}
	var all []*canon.Object
	for i := range 250 {
		rec := person()
		rec.Set("id", fmt.Sprint("b", i))
		all = append(all, rec)
	}
	for _, engine := range []string{resolve.EngineV1, resolve.EngineV2} {
		for _, entity := range []string{"person", "organisation", "place"} {
			corpus, err := resolve.NewCorpus(entity, "", engine)
			if err != nil {
				t.Fatal(err)
			}
			attach(t, corpus, partOf(t, entity, "", engine, all[:200]))
			for _, rec := range all[200:] {
				corpus.Add(rec.Value("id").(string), rec)
			}
			surfaced := 0
			for range 40 {
				rec := person()
				got, err := corpus.Match(t.Context(), rec)
				if err != nil {
					t.Fatal(err)
				}
				want, err := resolve.Compare(t.Context(), resolve.Request{A: []*canon.Object{rec}, B: all, Entity: entity, Engine: engine,
					Threshold: resolve.DefaultThreshold})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(encode(t, want.Answer()), encode(t, got.Answer())); diff != "" {
					t.Fatalf("%s %s (-compare +corpus)\n%s", engine, entity, diff)
				}
				surfaced += len(want.Edges)
			}
			if entity == "person" && surfaced < 100 {
				t.Errorf("%s: only %d pairs surfaced", engine, surfaced)
			}
		}
	}
}

// A part cannot come behind records that were added one by one.
func TestPartsComeFirst(t *testing.T) {
	c, err := resolve.NewCorpus("person", "", "")
	if err != nil {
		t.Fatal(err)
	}
	c.Add("x", canon.Obj("name", "Ada Obi"))
	p, err := resolve.OpenPart(partOf(t, "person", "", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.Attach(p, nil) == nil {
		t.Error("a part went behind added records")
	}
}

// The bytes of parts are kept in files: what they are made of may not change
// without their version.
func TestPartsKeepTheirBytes(t *testing.T) {
	records := []*canon.Object{
		canon.Obj("name", "Ngozi Adeyemi-Ọkafor", "birth_date", "1990-01-02", "national_id", "A-12 34", "address", "12 Marina Rd, Lagos", "lat", 6.45, "lon", 3.39),
		canon.Obj("name", "O'Brien O'Brien", "email", "x@y.ng", "shoe_size", canon.Number("41")),
		canon.Obj("name", nil, "phone", canon.Number("2348031234567")),
		canon.Obj("name", "Café LG-4020B 500ml", "registration_id", "RC 009"),
	}
	for key, want := range map[[3]string]string{
		{"person", "", ""}:                  "3db7d1fe280745eb",
		{"person", "", resolve.EngineV2}:    "f58e20c5981e6174",
		{"organisation", "0.10", ""}:        "79f287bb19a7279b",
		{"product_electronics", "", ""}:     "ebdbc95810fc40d3",
		{"place", "0.10", resolve.EngineV2}: "6d196677a5d45ad1",
	} {
		sum := sha256.Sum256(partOf(t, key[0], key[1], key[2], records))
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("%v: parts are %s, were %s: count partVersion up when this is meant", key, got, want)
		}
	}
}

// Every damage is noticed when a part is opened.
func TestDamagedPartsDoNotOpen(t *testing.T) {
	part := partOf(t, "person", "", "", []*canon.Object{canon.Obj("name", "Ada Obi", "lat", 6.5, "lon", 3.4), canon.Obj("name", "Ada Eze", "x", "y")})
	if _, err := resolve.OpenPart(part); err != nil {
		t.Fatal(err)
	}
	for i := range part {
		bad := bytes.Clone(part)
		bad[i] ^= 1 << (i % 8)
		if _, err := resolve.OpenPart(bad); !errors.Is(err, resolve.ErrPart) {
			t.Fatalf("a part with byte %d changed opens: %v", i, err)
		}
		if _, err := resolve.OpenPart(part[:i]); !errors.Is(err, resolve.ErrPart) {
			t.Fatalf("a part cut at byte %d opens: %v", i, err)
		}
	}
}

// FuzzParts: bytes that pass for a part, digest and all, never bring a match
// down.
func FuzzParts(f *testing.F) {
	for _, entity := range []string{"person", "place", "product_electronics"} {
		part := partOf(f, entity, "", "", []*canon.Object{
			canon.Obj("name", "Ada Obi LG-4020B", "lat", 6.5, "lon", 3.4, "national_id", "A1", "admin_path", canon.Obj("admin1", "Kano")),
			canon.Obj("name", "Ada Eze", "x", "y")})
		f.Add(entity, part[:len(part)-32])
	}
	f.Fuzz(func(t *testing.T, entity string, body []byte) {
		p, err := resolve.OpenPart(resolve.SealPart(body))
		if err != nil {
			return
		}
		c, err := resolve.NewCorpus(entity, "", "")
		if err != nil {
			return
		}
		if err := c.Attach(p, func(int) string { return "r" }); err != nil {
			t.Fatal(err)
		}
		for _, rec := range []*canon.Object{canon.Obj("name", "Ada Obi LG-4020B", "lat", 6.5, "lon", 3.4, "national_id", "A1"), canon.Obj("name", "eze")} {
			if _, err := c.Match(t.Context(), rec); err != nil {
				return
			}
		}
	})
}
