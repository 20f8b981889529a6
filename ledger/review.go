package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// ReviewRow is one answer of a person to an open case.
type ReviewRow struct {
	Line       int // in the file that it came from, for errors
	DecisionID string
	RecordA    string
	RecordB    string
	Verdict    string // same, different or review; "" is no answer
	Reason     string
}

// maxProblems bounds how many wrong rows an error names.
const maxProblems = 20

// Review records the answers of people to open cases as one unit of work: all
// of them, or none when any row is wrong or stale. A row is stale when its
// decision is no open case any more; one that says what was decided already
// changes nothing.
func (l *Ledger) Review(ctx context.Context, rows []ReviewRow) (*canon.Object, error) {
	decided, unchanged, empty := 0, 0, 0
	err := l.write(ctx, func(u *unit) error {
		decided, unchanged, empty = 0, 0, 0
		r := l.reader(ctx, u.db, u.s)
		var problems []string
		var todo []ReviewRow
		for _, row := range rows {
			switch what, err := r.checkReview(row); {
			case err != nil:
				return err
			case what == reviewEmpty:
				empty++
			case what == reviewDone:
				unchanged++
			case what == "":
				todo = append(todo, row)
			default:
				problems = append(problems, fmt.Sprintf("line %d: %s", row.Line, what))
			}
		}
		if len(problems) > 0 {
			more := ""
			if n := len(problems) - maxProblems; n > 0 {
				problems, more = problems[:maxProblems], fmt.Sprintf("; and %d more", n)
			}
			return fault.New(fault.Invalid, "nothing was recorded: %s%s", strings.Join(problems, "; "), more).
				WithHint("export the open cases anew; answers to what is still open can be copied over")
		}
		decided = len(todo)
		for _, row := range todo {
			ids := []string{row.RecordA, row.RecordB}
			slices.Sort(ids)
			if _, err := u.draft(ctx, &Draft{Kind: KindOperatorDecided, Subject: "pair:" + ids[0] + "|" + ids[1],
				Body: canon.Obj("reason", row.Reason, "verdict", row.Verdict)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return canon.Obj("decided", decided, "unchanged", unchanged, "unanswered", empty), nil
}

const (
	reviewEmpty = "empty"
	reviewDone  = "done"
)

// checkReview says what is wrong with a row, "" for nothing.
func (r *reader) checkReview(row ReviewRow) (string, error) {
	switch row.Verdict {
	case "":
		return reviewEmpty, nil
	case VerdictSame, VerdictDifferent, VerdictReview:
	default:
		return "the verdict must be same, different, review or empty", nil
	}
	if err := checkReason(row.Reason); err != nil {
		return fault.As(err).Message, nil
	}
	x, y := r.s.lookupRecord(row.RecordA), r.s.lookupRecord(row.RecordB)
	if x < 0 || y < 0 || x == y {
		return "it does not name two records of this ledger", nil
	}
	pair := orderedPair(x, y)
	about := false
	for _, i := range r.s.rowsOf(row.DecisionID) {
		if d := &r.s.decs[i]; orderedPair(d.a, d.b) == pair {
			about = true
			if r.s.openCase(i) {
				return "", nil
			}
		}
	}
	if !about {
		return "the decision is not about these two records", nil
	}
	op, err := r.operatorOf(x, y)
	if err != nil {
		return "", err
	}
	if op != nil && op.Value("verdict") == row.Verdict && op.Value("reason") == row.Reason {
		return reviewDone, nil
	}
	return "the case was settled since", nil
}
