package documents

import (
	"context"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
)

// Limits of one page of list_documents.
const (
	listDefault = 100
	listCap     = 500
)

// ListRequest selects the documents of one page. Zero values select nothing in
// particular.
type ListRequest struct {
	Types    []string
	Category string
	Status   string
	Tags     []string // any of them
	Limit    int      // 0 = 100, at most 500
	Offset   int
	Source   string // local, global, a declared id, "" = all
}

func (r *ListRequest) check() error {
	if err := checkTypes(r.Types); err != nil {
		return err
	}
	if r.Category != "" && !slices.Contains(vocabulary.Categories, r.Category) {
		return invalid("invalid category %q (valid: %s)", r.Category, validCategories)
	}
	if r.Status != "" {
		if err := checkStatus(r.Status); err != nil {
			return err
		}
	}
	if err := checkTags(r.Tags); err != nil {
		return err
	}
	if r.Limit < 0 {
		return invalid("limit must be non-negative")
	}
	if r.Offset < 0 {
		return invalid("offset must be non-negative")
	}
	return nil
}

// List answers one page of the documents that match: documents, total, offset,
// returned, truncated, by_source, and unavailable_sources when a declared
// source is not there.
func (b *Base) List(ctx context.Context, req ListRequest) (*canon.Object, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	v, err := b.see(ctx)
	if err != nil {
		return nil, err
	}
	scope, err := checkSource(req.Source, v.declared())
	if err != nil {
		return nil, err
	}
	if v.scanErr != nil {
		return nil, v.scanErr
	}
	var groups [][]*document
	at := map[string]int{}
	total := 0
	for _, d := range v.docs {
		if !inScope(d, scope) || !req.matches(d) {
			continue
		}
		i, seen := at[d.source.id]
		if !seen {
			i = len(groups)
			at[d.source.id] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], d)
		total++
	}
	limit := pageSize(req.Limit, listDefault, listCap)
	offset := min(req.Offset, total)
	page := interleave(groups, offset+limit)[offset:]
	return listAnswer(page, groups, total, offset, v.missing), nil
}

func (r *ListRequest) matches(d *document) bool {
	if len(r.Types) > 0 && !slices.Contains(r.Types, d.typ) ||
		r.Category != "" && d.category != r.Category ||
		r.Status != "" && d.status != r.Status {
		return false
	}
	return len(r.Tags) == 0 || slices.ContainsFunc(d.tags, func(t string) bool { return slices.Contains(r.Tags, t) })
}

func pageSize(asked, normal, most int) int {
	if asked == 0 {
		return normal
	}
	return min(asked, most)
}

func listAnswer(page []*document, groups [][]*document, total, offset int, missing []string) *canon.Object {
	rows := make([]any, len(page))
	for i, d := range page {
		rows[i] = d.row()
	}
	bySource := &canon.Object{}
	for _, g := range groups {
		bySource.Set(g[0].source.id, len(g))
	}
	o := canon.Obj("documents", rows, "total", total, "offset", offset, "returned", len(page),
		"truncated", offset+len(page) < total, "by_source", bySource)
	addMissing(o, missing)
	return o
}

// addMissing tells of declared sources that are not there, so that what they
// hold is not taken for absent.
func addMissing(o *canon.Object, missing []string) {
	if len(missing) > 0 {
		o.Set("unavailable_sources", missing)
	}
}

// interleave merges the groups of several sources so that each shows on the
// first page and all keep their share: the first row of every group, then
// rounds of weighted turns. It returns at least the first n rows of the
// sequence, which is the same for every n.
func interleave(groups [][]*document, n int) []*document {
	total := 0
	for _, g := range groups {
		total += len(g)
	}
	n = min(n, total)
	if len(groups) == 1 {
		return groups[0][:n]
	}
	out := make([]*document, 0, n+len(groups))
	next := make([]int, len(groups))
	credit, weight := make([]int, len(groups)), make([]int, len(groups))
	for i, g := range groups {
		out = append(out, g[0])
		next[i] = 1
		weight[i] = len(g) - 1
	}
	for len(out) < n {
		pick, round := -1, 0
		for i, g := range groups {
			if next[i] == len(g) {
				continue
			}
			credit[i] += weight[i]
			round += weight[i]
			if pick < 0 || credit[i] > credit[pick] {
				pick = i
			}
		}
		credit[pick] -= round
		out = append(out, groups[pick][next[pick]])
		next[pick]++
	}
	return out[:n]
}
