package documents

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Bytes returns a document as it lies on the disk.
func (b *Base) Bytes(ctx context.Context, p string) ([]byte, error) {
	rel, err := b.historyPath(p)
	if err != nil {
		return nil, err
	}
	if _, err := b.see(ctx); err != nil {
		return nil, err
	}
	if err := b.contain(rel); err != nil {
		return nil, err
	}
	return b.readForWrite(rel)
}

// Describe says in a few words what a version changed; before is the one it
// followed, nil for the first.
func (b *Base) Describe(ctx context.Context, before *Version, v Version) string {
	switch {
	case v.Removed:
		return "removed"
	case before == nil:
		return "first seen" + b.lineWords(ctx, nil, v)
	}
	var out []string
	if v.MovedFrom != "" {
		out = append(out, "moved from "+basePrefix+v.MovedFrom)
	}
	if before.Removed && v.MovedFrom == "" {
		return "back" + b.lineWords(ctx, nil, v)
	}
	if before.Status != v.Status {
		out = append(out, fmt.Sprintf("status %s -> %s", orNone(before.Status), orNone(v.Status)))
	}
	if !slices.Equal(before.Tags, v.Tags) {
		out = append(out, "tags "+orNone(strings.Join(v.Tags, ",")))
	}
	if lines := b.lineWords(ctx, before, v); lines != "" {
		out = append(out, strings.TrimPrefix(lines, ", "))
	}
	return strings.Join(out, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// lineWords counts the lines that came and went.
func (b *Base) lineWords(ctx context.Context, before *Version, v Version) string {
	l, _, err := b.currentLedger(ctx)
	if err != nil {
		return ""
	}
	after, err := l.Blob(ctx, v.Address)
	if err != nil {
		return ", its text is erased"
	}
	var was []byte
	if before != nil {
		if was, err = l.Blob(ctx, before.Address); err != nil {
			return ", the text before is erased"
		}
	}
	added, removed := countLines(string(was), string(after))
	switch {
	case added == 0 && removed == 0:
		return ""
	case removed == 0:
		return fmt.Sprintf(", +%d lines", added)
	}
	return fmt.Sprintf(", +%d -%d lines", added, removed)
}

// countLines counts lines by content: one that only moved is neither added nor
// removed.
func countLines(before, after string) (added, removed int) {
	count := map[string]int{}
	for l := range strings.Lines(before) {
		count[l]--
	}
	for l := range strings.Lines(after) {
		count[l]++
	}
	for _, n := range count {
		if n > 0 {
			added += n
		} else {
			removed -= n
		}
	}
	return added, removed
}
