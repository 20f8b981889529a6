package ledger

import (
	"context"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// What a person can decide of a pair of records. Undone takes the last of these
// back: the engine's decisions stand again.
const (
	VerdictSame      = "same"
	VerdictDifferent = "different"
	VerdictReview    = "review"
	verdictUndone    = "undone"
)

// maxReason bounds the reason of an operator's decision, in bytes.
const maxReason = 4096

// Decide records what a person decided of two stored records. It outranks every
// decision of the engine about the pair until it is undone or decided anew, and
// entities follow at once. The reason stays in the log for ever: it must hold no
// personal data. Repeating a decision changes nothing.
func (l *Ledger) Decide(ctx context.Context, recordA, recordB, verdict, reason string) (*canon.Object, error) {
	switch verdict {
	case VerdictSame, VerdictDifferent, VerdictReview:
	default:
		return nil, fault.New(fault.Invalid, "the verdict must be same, different or review")
	}
	if err := checkReason(reason); err != nil {
		return nil, err
	}
	return l.decide(ctx, recordA, recordB, verdict, reason)
}

// Undo takes back what a person decided: of the pair that an operator's event
// (evt:...) or a decision is about.
func (l *Ledger) Undo(ctx context.Context, id, reason string) (*canon.Object, error) {
	if err := checkReason(reason); err != nil {
		return nil, err
	}
	var a, b string
	err := l.use(ctx, func(db *duck.DB, s *state) (err error) {
		a, b, err = l.reader(ctx, db, s).decidedPair(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l.decide(ctx, a, b, verdictUndone, reason)
}

func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return fault.New(fault.Invalid, "a reason is needed").WithHint("it stays in the log for ever: give no personal data")
	case len(reason) > maxReason:
		return fault.New(fault.Limit, "the reason is longer than %d bytes", maxReason)
	}
	return nil
}

// decidedPair is the pair whose live operator's decision id names.
func (r *reader) decidedPair(id string) (a, b string, err error) {
	for pair, op := range r.s.ops {
		if op.event == id && op.verdict != verdictUndone {
			return r.s.recordID(pair[0]), r.s.recordID(pair[1]), nil
		}
	}
	for _, i := range r.s.rowsOf(id) {
		pair := orderedPair(r.s.decs[i].a, r.s.decs[i].b)
		if op, ok := r.s.ops[pair]; ok && op.verdict != verdictUndone {
			return r.s.recordID(pair[0]), r.s.recordID(pair[1]), nil
		}
	}
	if strings.HasPrefix(id, eventPrefix) || len(r.s.rowsOf(id)) > 0 {
		return "", "", fault.New(fault.NotFound, "nobody's decision stands at %s", canon.Repr(clip(id))).
			WithHint("undo takes back an operator's decision; an engine's decision is overruled with arche decide")
	}
	return "", "", noDecision(id)
}

func (l *Ledger) decide(ctx context.Context, recordA, recordB, verdict, reason string) (*canon.Object, error) {
	var out *canon.Object
	err := l.write(ctx, func(u *unit) error {
		x, y := u.s.lookupRecord(recordA), u.s.lookupRecord(recordB)
		switch {
		case x < 0:
			return noRecord(recordA)
		case y < 0:
			return noRecord(recordB)
		case x == y:
			return fault.New(fault.Invalid, "a record is always the same as itself")
		}
		ids := []string{recordA, recordB}
		slices.Sort(ids)
		e, err := u.draft(ctx, &Draft{
			Kind: KindOperatorDecided, Subject: "pair:" + ids[0] + "|" + ids[1],
			Body: canon.Obj("reason", strings.ToValidUTF8(reason, "\uFFFD"), "verdict", verdict),
		})
		if err != nil {
			return err
		}
		out = canon.Obj("event_id", e.id, "record_a", ids[0], "record_b", ids[1], "verdict", verdict, "reason", reason,
			"actor", e.actor, "recorded_at", wireTime(e.recordedAt.UnixMicro()), "supersedes", textOrNil(e.supersedes),
			"entity_a", u.s.entityOf(x), "entity_b", u.s.entityOf(y))
		return nil
	})
	return out, err
}

// entityOf is the id of the entity that a record is in, or nil.
func (s *state) entityOf(r int32) any {
	if e := s.recs[r].ent; e >= 0 {
		return s.ents[e].id
	}
	return nil
}

// operatorOf is what a person decided of a pair, nil when nothing stands.
func (r *reader) operatorOf(a, b int32) (*canon.Object, error) {
	if len(r.s.ops) == 0 {
		return nil, nil
	}
	op, ok := r.s.ops[orderedPair(a, b)]
	if !ok || op.verdict == verdictUndone {
		return nil, nil
	}
	e, err := readEvent(r.ctx, r.db, op.seq)
	if err != nil {
		return nil, err
	}
	body, err := e.Body()
	if err != nil || e.id != op.event {
		return nil, alteredEvent(e, "it is not the decision that stood there")
	}
	return canon.Obj("verdict", op.verdict, "reason", body.Value("reason"), "actor", e.actor,
		"recorded_at", wireTime(e.recordedAt.UnixMicro()), "event_id", e.id), nil
}

// addOperator tells in an answer about a decision what a person decided of its
// pair instead.
func (r *reader) addOperator(out *canon.Object, i int32) error {
	op, err := r.operatorOf(r.s.decs[i].a, r.s.decs[i].b)
	if err == nil && op != nil {
		out.Set("operator", op)
	}
	return err
}

// EntityHistory says where an entity's records are now: an entity that was
// merged or split keeps being found under its old id.
func (l *Ledger) EntityHistory(ctx context.Context, id string) (*canon.Object, error) {
	var out *canon.Object
	err := l.use(ctx, func(db *duck.DB, s *state) error {
		r := l.reader(ctx, db, s)
		records, err := r.everIn(id)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return fault.New(fault.NotFound, "no entity %s in this ledger, now or before", canon.Repr(clip(id))).
				WithHint("arche entities lists what is linked now")
		}
		_, stands := s.entIdx[id]
		var now []int32
		loose := []any{}
		for _, x := range records {
			if e := s.recs[x].ent; e >= 0 {
				now = append(now, e)
				continue
			}
			v, err := r.named(x)
			if err != nil {
				return err
			}
			loose = append(loose, v)
		}
		slices.SortFunc(now, func(x, y int32) int { return strings.Compare(s.ents[x].id, s.ents[y].id) })
		views := []any{}
		for _, e := range slices.Compact(now) {
			v, err := r.entityView(e)
			if err != nil {
				return err
			}
			views = append(views, v)
		}
		out = canon.Obj("entity_id", id, "stands", stands, "now", views, "unlinked", loose)
		return nil
	})
	return out, err
}
