package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/packs"
)

// lists is a problem with its answer: which records of a and b are the same.
type lists struct {
	a, b  []*canon.Object
	truth [][2]string
}

const listSeed = 20260707

// generate makes n x n records of an entity, n/2 of them true pairs.
func generate(entity string, n int) (*lists, error) {
	if entity == "person" {
		return people(n)
	}
	return organisations(n)
}

// sampler draws tokens of a frequency table in proportion to their counts.
type sampler struct {
	tokens []string
	cum    []float64
}

func newSampler(table string, keep func(string) bool) (*sampler, error) {
	t, err := packs.FrequencyTable(table)
	if err != nil {
		return nil, err
	}
	s, total := &sampler{}, 0.0
	for token, count := range t.All {
		if keep(token) {
			total += count
			s.tokens = append(s.tokens, token)
			s.cum = append(s.cum, total)
		}
	}
	return s, nil
}

func (s *sampler) draw(t *twister) string {
	return s.tokens[sort.SearchFloat64s(s.cum, t.random()*s.cum[len(s.cum)-1])]
}

var legalForms = [][2]string{
	{"Ltd", "Limited"}, {"Limited", "Ltd"}, {"PLC", "Public Limited Company"}, {"LLP", "LLP"}, {"GmbH", "GMBH"},
	{"Pty Ltd", "Proprietary Limited"}, {"SARL", "Sarl"}, {"Inc", "Inc."}, {"", ""},
}

var (
	legalWeights = []int{30, 25, 5, 4, 8, 3, 4, 8, 13}
	formWords    = strings.Fields("ltd limited plc llp lp gmbh pty sarl inc bv cic cio llc co")
	streetNames  = []string{"Zaria Road", "Allen Avenue", "Long Street", "Awolowo Road", "Kenyatta Avenue", "Elm Close", "Harbour Lane", "Market Street", "Station Road", "Mission Street"}
	cityNames    = []string{"Lagos", "Kano", "Nairobi", "Accra", "Cape Town", "Kampala", "Dakar", "London"}
	wordCounts   = []int{1, 2, 2, 2, 3, 3, 4}
)

const typoLetters = "aeioulnrst"

// typo damages a word of at least four letters in its inside.
func typo(t *twister, w string) string {
	if len(w) < 4 {
		return w
	}
	i := 1 + t.below(len(w)-2)
	switch t.below(4) {
	case 0:
		return w[:i] + w[i+1:]
	case 1:
		return w[:i] + t.letter(typoLetters) + w[i:]
	case 2:
		return w[:i] + t.letter(typoLetters) + w[i+1:]
	}
	return w[:i] + w[i+1:i+2] + w[i:i+1] + w[i+2:]
}

func digits(t *twister, n int) string {
	b := make([]byte, 0, n)
	for range n {
		b = append(b, t.letter("0123456789")...)
	}
	return string(b)
}

// capitalise is for tokens, which are ASCII.
func capitalise(w string) string { return strings.ToUpper(w[:1]) + strings.ToLower(w[1:]) }

func alphabetic(w string) bool {
	return !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' })
}

// organisation is a generated organisation before it is written out.
type organisation struct {
	words          []string
	form           int
	registrationID string
	address        string
	located        bool
	lat, lon       float64
}

func organisations(n int) (*lists, error) {
	t := seedText(fmt.Sprintf("%d-org-%d", listSeed, n))
	s, err := newSampler("organisation", func(w string) bool { return len(w) >= 3 && alphabetic(w) && !slices.Contains(formWords, w) })
	if err != nil {
		return nil, err
	}
	return assemble(t, n, func() organisation { return freshOrganisation(t, s) }, organisation.render,
		func(o organisation) (organisation, bool) { return o.damage(t) }), nil
}

func freshOrganisation(t *twister, s *sampler) organisation {
	var o organisation
	for range choice(t, wordCounts) {
		o.words = append(o.words, capitalise(s.draw(t)))
	}
	o.form = t.weighted(legalWeights)
	if t.random() < 0.30 {
		o.registrationID = "RC" + digits(t, 7)
	}
	if t.random() < 0.50 {
		number := t.between(1, 240)
		o.address = fmt.Sprintf("%d %s, ", number, choice(t, streetNames))
		o.address += choice(t, cityNames)
	}
	if t.random() < 0.20 {
		o.located = true
		o.lat = canon.Round(t.uniform(-10, 12), 5)
		o.lon = canon.Round(t.uniform(-15, 40), 5)
	}
	return o
}

func (o organisation) render(id string, alt bool) *canon.Object {
	form := legalForms[o.form][0]
	if alt {
		form = legalForms[o.form][1]
	}
	out := canon.Obj("id", id, "name", strings.TrimSpace(strings.Join(o.words, " ")+" "+form))
	if o.registrationID != "" {
		out.Set("registration_id", o.registrationID)
	}
	if o.address != "" {
		out.Set("address", o.address)
	}
	if o.located {
		out.Set("lat", canon.Number(canon.FloatText(o.lat)))
		out.Set("lon", canon.Number(canon.FloatText(o.lon)))
	}
	return out
}

func (o organisation) damage(t *twister) (organisation, bool) {
	o.words = slices.Clone(o.words)
	alt := t.random() < 0.5
	switch x := t.random(); {
	case x < 0.20:
		i := t.below(len(o.words))
		o.words[i] = capitalise(typo(t, strings.ToLower(o.words[i])))
	case x < 0.28 && len(o.words) > 1:
		o.words = o.words[:len(o.words)-1]
	case x < 0.34:
		shuffle(t, o.words)
	case x < 0.44:
		for i, w := range o.words {
			o.words[i] = strings.ToUpper(w)
		}
	}
	if t.random() < 0.15 {
		o.form = len(legalForms) - 1
	}
	if o.registrationID != "" {
		if t.random() < 0.5 {
			o.registrationID = "rc-" + o.registrationID[2:]
		}
		if t.random() < 0.2 {
			o.registrationID = ""
		}
	}
	if o.address != "" && t.random() < 0.3 {
		o.address = ""
	}
	if o.located {
		o.lat = canon.Round(o.lat+t.uniform(-.01, .01), 5)
		o.lon = canon.Round(o.lon+t.uniform(-.01, .01), 5)
	}
	return o, alt
}

// human is a generated person before it is written out.
type human struct {
	words                    []string
	group                    int // of equivalent given names; -1 for none
	born                     bool
	year, month, day         int
	nationalID, phone, email string
}

func people(n int) (*lists, error) {
	t := seedText(fmt.Sprintf("%d-person-%d", listSeed, n))
	s, err := newSampler("person", func(w string) bool { return len(w) >= 3 && alphabetic(w) })
	if err != nil {
		return nil, err
	}
	table, err := packs.NameEquivalenceTable()
	if err != nil {
		return nil, err
	}
	var groups [][]string
	for _, g := range table.Groups {
		var names []string
		for _, w := range g {
			if w != "" && alphabetic(w) {
				names = append(names, capitalise(w))
			}
		}
		if len(names) > 1 {
			groups = append(groups, names)
		}
	}
	return assemble(t, n, func() human { return freshHuman(t, s, groups) }, human.render,
		func(h human) (human, bool) { return h.damage(t, groups) }), nil
}

func freshHuman(t *twister, s *sampler, groups [][]string) human {
	h := human{group: -1}
	if t.random() < 0.5 {
		h.group = t.below(len(groups))
	}
	if h.group >= 0 {
		h.words = []string{choice(t, groups[h.group])}
	} else {
		h.words = []string{capitalise(s.draw(t))}
	}
	h.words = append(h.words, capitalise(s.draw(t)))
	if t.random() < 0.2 {
		h.words = slices.Insert(h.words, 1, capitalise(s.draw(t)))
	}
	if t.random() < 0.70 {
		h.born = true
		h.year, h.month, h.day = t.between(1940, 2012), t.between(1, 12), t.between(1, 28)
	}
	if t.random() < 0.20 {
		h.nationalID = digits(t, 11)
	}
	if t.random() < 0.40 {
		h.phone = "080" + digits(t, 8)
	}
	if t.random() < 0.25 {
		h.email = "u" + digits(t, 7) + "@example.org"
	}
	return h
}

func (h human) render(id string, alt bool) *canon.Object {
	out := canon.Obj("id", id, "name", strings.Join(h.words, " "))
	switch {
	case h.born && alt:
		out.Set("birth_date", fmt.Sprintf("%02d/%02d/%d", h.day, h.month, h.year))
	case h.born:
		out.Set("birth_date", fmt.Sprintf("%d-%02d-%02d", h.year, h.month, h.day))
	}
	for _, f := range [][2]string{{"national_id", h.nationalID}, {"phone", h.phone}, {"email", h.email}} {
		if f[1] != "" {
			out.Set(f[0], f[1])
		}
	}
	return out
}

func (h human) damage(t *twister, groups [][]string) (human, bool) {
	h.words = slices.Clone(h.words)
	switch x := t.random(); {
	case x < 0.25 && h.group >= 0:
		h.words[0] = choice(t, groups[h.group])
	case x < 0.40:
		i := t.below(len(h.words))
		h.words[i] = capitalise(typo(t, strings.ToLower(h.words[i])))
	case x < 0.50:
		last := len(h.words) - 1
		h.words = append([]string{h.words[last]}, h.words[:last]...)
	case x < 0.56:
		h.words[0] = h.words[0][:1] + "."
	case x < 0.62 && len(h.words) > 2:
		h.words = slices.Delete(h.words, 1, 2)
	}
	if h.born {
		switch y := t.random(); {
		case y < 0.05:
			h.day = max(1, h.day-1)
		case y < 0.15:
			h.born = false
		}
	}
	if h.phone != "" && t.random() < 0.4 {
		h.phone = "+234 " + h.phone[1:]
	}
	if h.nationalID != "" && t.random() < 0.2 {
		h.nationalID = ""
	}
	return h, t.random() < 0.4
}

// assemble makes both lists: n fresh records in a, half of them damaged in b,
// the rest of b fresh, each list shuffled.
func assemble[T any](t *twister, n int, fresh func() T, render func(T, string, bool) *canon.Object, damage func(T) (T, bool)) *lists {
	base := make([]T, n)
	for i := range base {
		base[i] = fresh()
	}
	out := &lists{}
	for i, r := range base {
		out.a = append(out.a, render(r, fmt.Sprintf("a%d", i), false))
	}
	for i := range n / 2 {
		r, alt := damage(base[i])
		out.b = append(out.b, render(r, fmt.Sprintf("b%d", i), alt))
		out.truth = append(out.truth, [2]string{fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)})
	}
	for i := n / 2; i < n; i++ {
		out.b = append(out.b, render(fresh(), fmt.Sprintf("b%d", i), false))
	}
	shuffle(t, out.a)
	shuffle(t, out.b)
	return out
}
