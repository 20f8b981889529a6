package documents

import (
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...)
}

func checkStatus(s string) error {
	if slices.Contains(vocabulary.Statuses, s) {
		return nil
	}
	return invalid("invalid status %q (valid: %s)", s, validStatuses)
}

func checkTypes(types []string) error {
	for _, t := range types {
		if _, ok := typesByName[t]; !ok {
			return invalid("invalid type %q (valid: %s)", t, validTypes)
		}
	}
	return nil
}

func checkTags(tags []string) error {
	for _, t := range tags {
		if isTag(t) {
			continue
		}
		if low := strings.ToLower(t); isTag(low) {
			return invalid("invalid tag %q — did you mean %q?", t, low)
		}
		return invalid("invalid tag %q — must be lowercase alphanumeric with hyphens, underscores, colons, or pipes "+
			`(e.g. "frontend", "team-platform", "team:payments", "payment_team", "some|flag")`, t)
	}
	return nil
}

// sortedTags is how given tags are stored: each once, in byte order.
func sortedTags(tags []string) []string {
	out := slices.Clone(tags)
	slices.Sort(out)
	return slices.Compact(out)
}
