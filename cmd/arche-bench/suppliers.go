package main

import (
	"fmt"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

const supplierSyllables = "ba be bo da de du fa fi go gu ha hi jo ka ke ki ku la le lo ma me mi mo na ne no pa pe ra re ri ro sa se si so ta te ti to va ve vo wa we wo ya ye yo za ze zi zo"

var (
	supplierCommon = []string{"Central", "United", "National", "General", "Modern", "Royal"}
	supplierTrade  = []string{"Traders", "Exporters", "Foods", "Transport", "Mills", "Supplies"}
)

// suppliers makes the pairs that the ledger measurement records: three of four
// share a rare name and match, the fourth an ordinary one and stays open.
type suppliers struct {
	t         *twister
	syllables []string
}

func newSuppliers(seed int64) *suppliers {
	return &suppliers{seedInt(seed), strings.Fields(supplierSyllables)}
}

func (s *suppliers) word() string {
	n := choice(s.t, []int{3, 4})
	return capitalise(s.t.wordOf(s.syllables, n))
}

func (s *suppliers) name(i int) string {
	if i%4 == 3 {
		common := choice(s.t, supplierCommon)
		w := s.word()[:2]
		return common + " " + w + " " + choice(s.t, supplierTrade)
	}
	first := s.word()
	second := s.word()
	return first + " " + second + " " + choice(s.t, supplierTrade)
}

func (s *suppliers) batch(from, n int) (a, b []*canon.Object) {
	for i := from; i < from+n; i++ {
		name := s.name(i)
		a = append(a, canon.Obj("id", fmt.Sprintf("a%d", i), "name", name+" Ltd", "city", "Nakuru", "ward", fmt.Sprintf("W%d", i%97)))
		b = append(b, canon.Obj("id", fmt.Sprintf("b%d", i), "name", name+" Limited", "city", "Nakuru", "phone", fmt.Sprintf("0700%06d", i)))
	}
	return a, b
}
