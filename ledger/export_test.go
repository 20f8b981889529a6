package ledger

import (
	"context"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
)

// LoadProjections makes a ledger take its state from the projection tables
// however short its log is.
func (l *Ledger) LoadProjections() { l.verified = -1 }

// Glimpse makes a ledger answer about one decision without the whole state,
// however short its log is, and forgets the state.
func (l *Ledger) Glimpse() { l.glimpse, l.glimpses, l.state = 0, 0, nil }

// IndexOf changes from how many records a stretch of the index is made, and how
// many it holds at most.
func (l *Ledger) IndexOf(least, most int) { l.index.least, l.index.most = least, most }

// Forgets empties what the ledger keeps in memory of records, as in a new
// process.
func (l *Ledger) Forgets() { l.cache.reset() }

// Matched is what resolve goes by for a newcomer: the engine's answer and the
// list of the records it met. Nothing is recorded.
func (l *Ledger) Matched(ctx context.Context, rec *canon.Object, entityType string) (answer string, err error) {
	err = l.use(ctx, func(db *duck.DB, s *state) error {
		v := &arrival{
			r: l.reader(ctx, db, s), form: packForm(rec),
			key: corpusKey{entityType, l.opts.PackVersion, l.opts.Engine}, typ: s.words.put(baseEntity(entityType)),
		}
		c, res, err := v.r.match(v)
		if err != nil || res == nil {
			return err
		}
		list := v.r.corpusList(c, v.typ)
		b, err := canon.Indent(canon.Obj("answer", res.Answer(), "met", objectOrNil(list.all), "ids", list.ids))
		answer = string(b)
		return err
	})
	return answer, err
}

// LongFrom makes units of so many rows long ones, which hold few of them.
func (l *Ledger) LongFrom(rows int) { l.long, l.held = rows, 3 }
