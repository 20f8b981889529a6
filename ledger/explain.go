package ledger

import (
	"context"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
)

const (
	supportFrom = 0.85 // a factor of at least this much speaks for the identity
	refuteBelow = 0.5  // one below this speaks against it
)

// Explain answers why a decision fell as it did: which factors support and
// refute it, which usual fields are missing, which both records share.
func (l *Ledger) Explain(ctx context.Context, id string) (*canon.Object, error) {
	var out *canon.Object
	err := l.useFor(ctx, id, func(db *duck.DB, s *state) error {
		r := l.reader(ctx, db, s)
		i, err := r.find(id)
		if err != nil {
			return err
		}
		rec, err := r.receipt(i)
		if err != nil {
			return err
		}
		out, err = r.explain(rec)
		if err != nil {
			return err
		}
		r.addAlso(out, i)
		return r.addOperator(out, i)
	})
	return out, err
}

func (r *reader) explain(rec *receipt) (*canon.Object, error) {
	d := &r.s.decs[rec.i]
	supporting, refuting := weigh(rec)
	a, err := r.known(d.a)
	if err != nil {
		return nil, err
	}
	b, err := r.known(d.b)
	if err != nil {
		return nil, err
	}
	evidence := rec.object("evidence")
	basis, _ := evidence.Value("basis").(string)
	gate, ok := evidence.Value("gate").(*canon.Object)
	if !ok {
		gate = canon.NewObject()
	}
	return canon.Obj(
		"identity", rec.text("identity"),
		"action", rec.text("action"),
		"basis", basis,
		"explanation", rec.text("explanation"),
		"supporting", supporting,
		"refuting", refuting,
		"missing", missingOf(packForm(a), packForm(b), rec.object("factors")),
		"shared", sharedOf(a, b, supporting),
		"gate", restoreNumbers(gate, false),
		"decision_id", r.s.publicID(rec.i),
	), nil
}

// weigh sorts the factors into those for and those against, vetoes last.
func weigh(rec *receipt) (supporting, refuting []string) {
	supporting, refuting = []string{}, []string{}
	for k, v := range rec.object("factors").All() {
		switch f, ok := number(v); {
		case !ok:
		case f >= supportFrom:
			supporting = append(supporting, k)
		case f < refuteBelow:
			refuting = append(refuting, k)
		}
	}
	slices.Sort(supporting)
	slices.Sort(refuting)
	if vetoes, ok := rec.object("evidence").Value("vetoes").(*canon.Object); ok {
		names := vetoes.Keys()
		slices.Sort(names)
		for _, k := range names {
			if vetoes.Value(k) == true {
				refuting = append(refuting, "veto:"+k)
			}
		}
	}
	return supporting, refuting
}

// usualFields are the fields whose absence explain mentions, in its order.
var usualFields = []string{"national_id", "registration_id", "phone", "email", "dob", "name", "address"}

func missingOf(a, b, factors *canon.Object) []string {
	out := []string{}
	for _, f := range usualFields {
		if !a.Has(f) && !b.Has(f) && !factors.Has(f) {
			out = append(out, f)
		}
	}
	return out
}

// known is what is known of a record: nothing when its values were erased.
func (r *reader) known(i int32) (*canon.Object, error) {
	if r.s.recs[i].erased {
		return canon.NewObject(), nil
	}
	return r.contentOf(i)
}

// packed is known in pack vocabulary.
func (r *reader) packed(i int32) (*canon.Object, error) {
	o, err := r.known(i)
	return packForm(o), err
}

// sharedOf are the names among fields that both records carry with one value.
func sharedOf(x, y *canon.Object, fields []string) []string {
	out := []string{}
	for _, f := range fields {
		if agrees(x, y, f) || agrees(x, y, "full_"+f) {
			out = append(out, f)
		}
	}
	return out
}

// agrees reports whether both records carry the field with one value.
func agrees(x, y *canon.Object, field string) bool {
	v, okx := x.Get(field)
	w, oky := y.Get(field)
	return okx && oky && !blank(v) && !blank(w) && foldText(v) == foldText(w)
}
