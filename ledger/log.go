package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// Dump writes every projection row as a line of text, tables and rows in one
// fixed order: two ledgers with the same log give the same lines.
func (l *Ledger) Dump(ctx context.Context) ([]string, error) {
	var out []string
	err := l.use(ctx, func(db *duck.DB, _ *state) error {
		for _, table := range projections {
			err := db.Query(ctx, `SELECT * FROM `+table+` ORDER BY ALL NULLS FIRST`, nil, func(v []driver.Value) error {
				var b strings.Builder
				b.WriteString(table)
				for _, x := range v {
					b.WriteByte('\t')
					b.WriteString(dumpValue(x))
				}
				out = append(out, b.String())
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func dumpValue(v driver.Value) string {
	switch x := v.(type) {
	case nil:
		return `\N`
	case time.Time:
		return x.UTC().Format(timeForm)
	}
	return fmt.Sprint(v)
}

// LastTime is the time of the last event, zero when there is none.
func (l *Ledger) LastTime(ctx context.Context) (time.Time, error) {
	var at time.Time
	err := l.use(ctx, func(_ *duck.DB, s *state) error {
		if s.seq > 0 {
			at = time.UnixMicro(s.at).UTC()
		}
		return nil
	})
	return at, err
}
