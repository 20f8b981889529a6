package resolve

import (
	"strings"
	"sync"

	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// Legal forms by number; 0 is none.
type legalForm int16

type formTable struct {
	names    []string // by form; 0 is ""
	synonyms []packs.Synonym
	ids      map[string]legalForm
	markers  []string
	relation map[[2]legalForm]float64 // nothing where the pair says nothing
	business legalForm
	pin      string
	norm     func(string) string
}

var legalForms = sync.OnceValues(func() (*formTable, error) {
	voc, err := packs.LegalFormVocabulary()
	if err != nil {
		return nil, err
	}
	return newFormTable(voc), nil
})

func newFormTable(voc *packs.LegalForms) *formTable {
	t := &formTable{norm: text.Norm, names: []string{""}, synonyms: voc.Synonyms, ids: make(map[string]legalForm),
		markers: voc.BusinessMarkers, relation: make(map[[2]legalForm]float64), pin: voc.Pin}
	id := func(name string) legalForm {
		if f, ok := t.ids[name]; ok {
			return f
		}
		f := legalForm(len(t.names))
		t.names = append(t.names, name)
		t.ids[name] = f
		return f
	}
	for _, s := range voc.Synonyms {
		id(s.Canonical)
	}
	t.business = id("BUSINESS_NAME")
	for _, r := range voc.Relations {
		v := nothing
		if r.Value != nil {
			v = *r.Value
		}
		a, b := id(r.A), id(r.B)
		t.relation[[2]legalForm{a, b}] = v
		t.relation[[2]legalForm{b, a}] = v
	}
	return t
}

// read returns the form named last in s: of all forms' names, longest first and
// each blanking what it covers, the one that ends furthest right.
func (t *formTable) read(s string) legalForm {
	n := t.norm(s)
	form, end := legalForm(0), -1
	for _, syn := range t.synonyms {
		i := findSynonym(n, &syn, 0)
		if i < 0 {
			continue
		}
		blanked := []byte(n)
		for i >= 0 {
			stop := i + len(syn.Text)
			if stop > end {
				form, end = t.ids[syn.Canonical], stop
			}
			for k := i; k < stop; k++ {
				blanked[k] = ' '
			}
			i = findSynonym(n, &syn, stop)
		}
		n = string(blanked)
	}
	if form != 0 {
		return form
	}
	for _, m := range t.markers {
		if standsAlone(n, m) {
			return t.business
		}
	}
	return 0
}

// standsAlone reports whether phrase occurs in s without a word character
// touching it.
func standsAlone(s, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		if !wordBefore(s, i) && !wordAt(s, i+len(phrase)) {
			return true
		}
		from = i + 1
	}
}

// compare is 0 for forms that exclude each other, a middle value for forms that
// turn into each other, and nothing where forms say nothing.
func (t *formTable) compare(a, b legalForm) float64 {
	switch {
	case a == 0 || b == 0 || a == b:
		return nothing
	case a == t.business || b == t.business:
		return 0
	}
	if v, ok := t.relation[[2]legalForm{a, b}]; ok {
		return v
	}
	return 0
}
