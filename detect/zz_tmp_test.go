package detect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"github.com/arche-ledger/arche/detect"
)

func TestTmpCorpus(t *testing.T) {
	b, err := os.ReadFile("/tmp/w/corpus.json")
	if err != nil {
		t.Skip()
	}
	var c struct {
		Text    string
		Planted [][]any
	}
	json.Unmarshal(b, &c)
	j := os.Getenv("JUR")
	if j == "" {
		j = "NG"
	}
	t0 := time.Now()
	spans, _ := detect.Scan(c.Text, detect.Options{Jurisdiction: j})
	best := time.Since(t0)
	for range 5 {
		t0 = time.Now()
		detect.Scan(c.Text, detect.Options{Jurisdiction: j})
		best = min(best, time.Since(t0))
	}
	fmt.Printf("%d bytes in %v = %.1f MB/s, %d spans\n", len(c.Text), best, float64(len(c.Text))/best.Seconds()/1e6, len(spans))
	type pl struct {
		c, k string
		s, e int
	}
	var ps []pl
	for _, p := range c.Planted {
		cat, _ := p[0].(string)
		ps = append(ps, pl{cat, p[3].(string), int(p[1].(float64)), int(p[2].(float64))})
	}
	tot, hit := map[string]int{}, map[string]int{}
	for _, p := range ps {
		if p.c == "" {
			continue
		}
		tot[p.k]++
		for _, s := range spans {
			if s.Category == p.c && s.Start < p.e && s.End > p.s {
				hit[p.k]++
				break
			}
		}
	}
	all, good := map[string]int{}, map[string]int{}
	bad := map[string][]string{}
	for _, s := range spans {
		all[s.Category]++
		ok := false
		for _, p := range ps {
			if p.c != "" && p.s < s.End && p.e > s.Start && (p.c == s.Category || p.c == "PII-4-ADDRESS" && s.Category == "PII-4-LOCATION") {
				ok = true
				break
			}
		}
		if ok {
			good[s.Category]++
		} else if len(bad[s.Category]) < 12 {
			bad[s.Category] = append(bad[s.Category], c.Text[max(0, s.Start-25):s.Start]+"<<"+c.Text[s.Start:s.End]+">>")
		}
	}
	var ks []string
	for k := range tot {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	for _, k := range ks {
		if hit[k] != tot[k] {
			fmt.Println("recall", k, hit[k], tot[k])
		}
	}
	for k := range all {
		fmt.Printf("precision %s %d/%d %.3f\n", k, good[k], all[k], float64(good[k])/float64(all[k]))
		if good[k] != all[k] {
			for _, x := range bad[k] {
				fmt.Printf("    %q\n", x)
			}
		}
	}
}
