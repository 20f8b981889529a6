package detect_test

import (
	"testing"

	"github.com/arche-ledger/arche/detect"
)

// BenchmarkScan scans a megabyte of prose with a planted value about every 70
// characters.
func BenchmarkScan(b *testing.B) {
	text, _ := corpus(1 << 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := detect.Scan(text, detect.Options{Jurisdiction: "NG"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEntities finds typed entities in the same text.
func BenchmarkEntities(b *testing.B) {
	text, _ := corpus(1 << 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := detect.Entities(text, detect.EntityOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
