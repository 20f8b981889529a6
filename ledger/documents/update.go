package documents

import (
	"context"
	"errors"
	"path"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// UpdateRequest is a change of a document. Empty texts change nothing; Tags is
// nil when not given, and an empty list clears them.
type UpdateRequest struct {
	Path    string
	Title   string
	Status  string
	Content string
	Tags    *[]string
}

// Update changes a document and answers path, category, type, title, status
// and tags as they are afterwards.
func (b *Base) Update(ctx context.Context, req UpdateRequest) (*canon.Object, error) {
	var answer *canon.Object
	err := b.write(ctx, false, func(v *view) (*plan, error) {
		rel, err := b.checkUpdate(&req, v)
		if err != nil {
			return nil, err
		}
		old, err := b.readForWrite(rel)
		if err != nil {
			return nil, err
		}
		text, h, err := req.apply(basePrefix+rel, string(old))
		if err != nil {
			return nil, err
		}
		_, typ := splitName(path.Base(rel))
		answer = documentAnswer(rel, typ, h)
		return b.rewrite(rel, old, []byte(text), "update_document"), nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (b *Base) checkUpdate(req *UpdateRequest, v *view) (rel string, err error) {
	if v.settingsErr != nil {
		return "", errUnverified
	}
	if rel, err = b.guardWrite(req.Path, v.declared(), updating); err != nil {
		return "", err
	}
	if req.Tags != nil {
		if err := checkTags(*req.Tags); err != nil {
			return "", err
		}
	}
	if req.Title == "" && req.Status == "" && req.Content == "" && req.Tags == nil {
		return "", invalid("at least one of title, status, content, or tags must be provided")
	}
	if req.Status != "" {
		return rel, checkStatus(req.Status)
	}
	return rel, nil
}

// readForWrite reads a document that is about to be changed.
func (b *Base) readForWrite(rel string) ([]byte, error) {
	data, _, err := readBelow(b.ask, filepath.Join(b.root, baseDir), rel)
	switch {
	case isNotExist(err):
		return nil, fault.New(fault.NotFound, "document not found: %s", basePrefix+rel)
	case errors.Is(err, errTooLarge):
		return nil, fault.New(fault.Limit, "reading %s: larger than %d MiB", basePrefix+rel, maxDocument>>20)
	case err != nil:
		return nil, ioFault(err, "reading", basePrefix+rel)
	}
	return data, nil
}

// apply makes the new text of a document and its metadata.
func (r *UpdateRequest) apply(shown, old string) (string, head, error) {
	p := parseDocument(old)
	if p.err != nil {
		return "", head{}, fault.Wrap(p.err, fault.Refused,
			"cannot update %s: existing frontmatter is not valid YAML — fix the file manually before updating", shown)
	}
	h, body := p.head, p.body
	if r.Title != "" {
		h.Title = r.Title
	}
	if r.Status != "" {
		h.Status = r.Status
	}
	clearTags := false
	if r.Tags != nil {
		h.Tags = sortedTags(*r.Tags)
		clearTags = len(h.Tags) == 0
	}
	if r.Content != "" {
		body = stripHead(r.Content)
	}
	text, err := compose(h, p.doc, clearTags, body)
	if err != nil {
		return "", head{}, fault.Wrap(err, fault.Refused,
			"cannot update %s: frontmatter cannot be preserved — repair frontmatter manually before updating", shown)
	}
	if len(text) > maxDocument {
		return "", head{}, fault.New(fault.Limit, "content is larger than %d MiB", maxDocument>>20)
	}
	return text, h, nil
}

// rewrite is the plan that gives a document new bytes; the same bytes are no
// edit at all.
func (b *Base) rewrite(rel string, old, data []byte, tool string) *plan {
	if string(old) == string(data) {
		return &plan{}
	}
	d := readDocument(&mount{id: localSource, prefix: basePrefix}, rel, data, stamp{}, b.now())
	c := b.hist.writtenChange(d, given(data))
	c.body.Set("tool", tool)
	return &plan{changes: []change{c}, edits: []edit{{file: rel, data: data, before: addressOf(old),
		fail: func(err error) error { return ioFault(err, "writing", basePrefix+rel) }}}}
}
