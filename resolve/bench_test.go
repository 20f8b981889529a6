package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// lcg is a small generator, so that benchmark lists are the same everywhere.
type lcg uint64

func (r *lcg) n(n int) int {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int(uint64(*r) >> 33 % uint64(n))
}

const syllables = "ba be bi bo bu da de di do du fa fe fi fo ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro sa se si so ta te ti to wa we"

func (r *lcg) word() string {
	all := strings.Fields(syllables)
	// Low numbers come more often, so that some words are common.
	k := r.n(1 + r.n(4000))
	w := all[k%len(all)] + all[k/7%len(all)]
	if k > 600 {
		w += all[k/53%len(all)]
	}
	return w
}

// benchLists makes two lists of n records, half of b altered copies of a.
func benchLists(entity string, n int) (a, b []*canon.Object) {
	r := lcg(20260707)
	record := func(id string) *canon.Object {
		rec := canon.Obj("id", id, "name", r.word()+" "+r.word()+" "+r.word())
		if r.n(10) < 7 {
			rec.Set("birth_date", fmt.Sprintf("%d-%02d-%02d", 1940+r.n(70), 1+r.n(12), 1+r.n(28)))
		}
		if r.n(10) < 4 {
			rec.Set("phone", fmt.Sprintf("080%08d", r.n(100_000_000)))
		}
		if entity == "organisation" && r.n(2) == 0 {
			rec.Set("address", fmt.Sprintf("%d %s Road, Lagos", 1+r.n(240), strings.ToUpper(r.word()[:1])+r.word()))
		}
		return rec
	}
	for i := range n {
		a = append(a, record(fmt.Sprint("a", i)))
		if i%2 == 1 {
			b = append(b, record(fmt.Sprint("b", i)))
			continue
		}
		copied := a[i].Clone()
		copied.Set("id", fmt.Sprint("b", i))
		name := copied.Value("name").(string)
		copied.Set("name", name[:len(name)-1]+"x")
		b = append(b, copied)
	}
	return a, b
}

func BenchmarkCompare(bench *testing.B) {
	for _, entity := range []string{"organisation", "person"} {
		for _, engine := range []string{resolve.EngineV1, resolve.EngineV2} {
			bench.Run(entity+"/"+engine, func(bench *testing.B) {
				a, b := benchLists(entity, 2000)
				pairs := int64(0)
				for bench.Loop() {
					res, err := resolve.Compare(bench.Context(), resolve.Request{A: a, B: b, Entity: entity, Engine: engine, Threshold: resolve.DefaultThreshold})
					if err != nil {
						bench.Fatal(err)
					}
					pairs = res.Blocking.Value("candidate_pairs").(int64)
				}
				bench.ReportMetric(float64(pairs)*float64(bench.N)/bench.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

// BenchmarkEveryPair scores a cross product, as comparators without a pack do.
func BenchmarkEveryPair(bench *testing.B) {
	a, b := benchLists("person", 1000)
	specs := []*canon.Object{canon.Obj("field", "name", "kind", "name", "weight", canon.Float(3)),
		canon.Obj("field", "name", "kind", "tftoken", "weight", canon.Float(2)), canon.Obj("field", "birth_date", "kind", "date")}
	for bench.Loop() {
		if _, err := resolve.Compare(bench.Context(), resolve.Request{A: a, B: b, Comparators: specs, Threshold: resolve.DefaultThreshold}); err != nil {
			bench.Fatal(err)
		}
	}
	bench.ReportMetric(float64(len(a)*len(b))*float64(bench.N)/bench.Elapsed().Seconds(), "pairs/s")
}

func BenchmarkCorpusMatch(bench *testing.B) {
	a, b := benchLists("person", 20_000)
	corpus, err := resolve.NewCorpus("person", "", "")
	if err != nil {
		bench.Fatal(err)
	}
	for i, rec := range a {
		corpus.Add(fmt.Sprint("r", i), rec)
	}
	i := 0
	for bench.Loop() {
		if _, err := corpus.Match(bench.Context(), b[i%len(b)]); err != nil {
			bench.Fatal(err)
		}
		i++
	}
}

func BenchmarkComparePair(bench *testing.B) {
	a := canon.Obj("name", "Fatima Abdullahi", "phone", "+234 803 555 0199")
	b := canon.Obj("name", "Fatuma Abdulahi", "phone", "08035550199")
	for _, entity := range []string{"person", "organisation"} {
		bench.Run(entity, func(bench *testing.B) {
			for bench.Loop() {
				if _, err := resolve.ComparePair(bench.Context(), resolve.PairRequest{A: a, B: b, Entity: entity}); err != nil {
					bench.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckNames(bench *testing.B) {
	for bench.Loop() {
		resolve.CheckNames("Fatima Abdullahi", "Fatuma Abdulahi")
	}
}
