package documents_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A corpus is a made-up knowledge base: n documents of about size bytes in
// folders of fifty, and relations between them. The same numbers give the same
// bytes.

var corpusTypes = []string{"adr", "rule", "guide", "plan", "spec", "doc", "prd", "idea"}

var corpusWords = strings.Fields("ledger payment retry queue token invoice account refund policy service Kafka " +
	"Postgres schema index cache deploy rollback latency budget owner review incident alert Deployment pipeline " +
	"contract vendor Naïveté región gateway session cookie header webhook batch worker replica shard")

func corpusPath(i int) string {
	return fmt.Sprintf("area-%03d/doc-%05d.%s.md", i/50, i, corpusTypes[i%len(corpusTypes)])
}

func corpusText(rnd *rand.Rand, i, size int) string {
	var b strings.Builder
	status := []string{"draft", "accepted", "rejected"}[i%3]
	fmt.Fprintf(&b, "---\ntitle: \"Document %d about %s\"\nstatus: %s\ntags:\n  - \"team-%d\"\n---\n\n## Context\n\n",
		i, corpusWords[rnd.IntN(len(corpusWords))], status, i%17)
	for line := 0; b.Len() < size; line++ {
		if line%12 == 11 {
			fmt.Fprintf(&b, "\n\n## Section %d\n\nSee @src/%s/%s.go and pkg/%s/file%d.ts.\n", line, corpusWords[rnd.IntN(20)], corpusWords[rnd.IntN(20)], corpusWords[rnd.IntN(20)], i)
			continue
		}
		for range 9 {
			b.WriteString(corpusWords[rnd.IntN(len(corpusWords))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	if i%1000 == 7 {
		b.WriteString("\nA single quokka lives here.\n")
	}
	return b.String()
}

// layCorpus writes a corpus below root/.archcore and dates it back, so that
// nothing of it is too fresh to be trusted.
func layCorpus(tb testing.TB, root string, n, size, relations int) {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	base := filepath.Join(root, ".archcore")
	old := time.Now().Add(-time.Hour)
	write := func(rel, text string) {
		full := filepath.Join(base, rel)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
		if err := os.Chtimes(full, old, old); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range n {
		write(corpusPath(i), corpusText(rnd, i, size))
	}
	write("settings.json", "{\n  \"sync\": \"none\"\n}\n")
	types := []string{"related", "implements", "extends", "depends_on"}
	seen := map[[2]int]bool{}
	var rels []string
	for len(rels) < relations {
		a, b := rnd.IntN(n), rnd.IntN(n)
		if a == b || seen[[2]int{a, b}] {
			continue
		}
		seen[[2]int{a, b}] = true
		rels = append(rels, fmt.Sprintf("    {\n      \"source\": %q,\n      \"target\": %q,\n      \"type\": %q\n    }", corpusPath(a), corpusPath(b), types[len(rels)%4]))
	}
	manifest := "{\n  \"version\": 1,\n  \"files\": {}\n}\n"
	if len(rels) > 0 {
		manifest = "{\n  \"version\": 1,\n  \"files\": {},\n  \"relations\": [\n" + strings.Join(rels, ",\n") + "\n  ]\n}\n"
	}
	write(".sync-state.json", manifest)
}
