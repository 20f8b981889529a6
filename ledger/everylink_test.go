package ledger

import (
	"fmt"
	"testing"

	"github.com/arche-ledger/arche/ledger/duck"
)

// TestVerifyChecksEveryEvent changes, event by event, what the link alone
// protects (actor, time) and what the address alone protects (a body that says
// the same in other bytes): verification names just that event each time.
func TestVerifyChecksEveryEvent(t *testing.T) {
	l := tampered(t)
	_, last, _, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(sql string) {
		t.Helper()
		if err := l.store.Use(t.Context(), func(db *duck.DB) error { return db.Exec(t.Context(), sql) }); err != nil {
			t.Fatal(err)
		}
	}
	step := max(1, last/40)
	for seq := int64(1); seq <= last; seq++ {
		if seq%step != 0 && seq > 12 && seq < last-5 {
			continue
		}
		for _, x := range [][2]string{
			{"actor = actor || 'x'", "link"},
			{"recorded_at = recorded_at + INTERVAL 1 MICROSECOND", "link"},
			{"body = body || ' '", "id"},
		} {
			change, field := x[0], x[1]
			exec("BEGIN TRANSACTION")
			exec(fmt.Sprintf("UPDATE events SET %s WHERE seq = %d", change, seq))
			var report Report
			if err := l.Verify(t.Context(), &report); err == nil {
				t.Errorf("event %d, %s: nothing was found", seq, change)
			} else if f := report.Findings[0]; f.Seq != seq || f.Table != "events" || f.Field != field {
				t.Errorf("event %d, %s: named %+v", seq, change, f)
			}
			exec("ROLLBACK")
		}
	}
}
