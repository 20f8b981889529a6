package documents

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// InitRequest is how a project is set up.
type InitRequest struct {
	Language    string // "" or en: English
	SyncMode    string // none, cloud, on-prem; "" = none
	ArchcoreURL string // for on-prem
}

// settings makes the settings that were asked for.
func (r *InitRequest) settings(language string) (*canon.Object, error) {
	mode := strings.TrimSpace(r.SyncMode)
	if mode == "" {
		mode = "none"
	}
	o := canon.Obj("sync", mode)
	switch mode {
	case "none", "cloud":
	case "on-prem":
		if strings.TrimSpace(r.ArchcoreURL) == "" {
			return nil, invalid(`sync_mode="on-prem" requires archcore_url`)
		}
		o.Set("archcore_url", r.ArchcoreURL)
	default:
		return nil, invalid("unknown sync_mode %q (valid: none, cloud, on-prem)", mode)
	}
	if language != "" {
		o.Set("language", language)
	}
	return o, nil
}

// Init sets a project up, or answers the settings it has: initialized,
// already_initialized, settings.
func (b *Base) Init(ctx context.Context, req InitRequest) (*canon.Object, error) {
	language := strings.TrimSpace(req.Language)
	if strings.Contains(language, " ") {
		return nil, invalid("invalid language: must not contain spaces")
	}
	if !utf8.ValidString(language) || !utf8.ValidString(req.ArchcoreURL) {
		return nil, invalid("invalid settings: language and archcore_url must be UTF-8 text")
	}
	if language == "en" {
		language = ""
	}
	shown, already, err := b.initialise(ctx, "existing settings unreadable", func() (*canon.Object, error) { return req.settings(language) })
	if err != nil {
		return nil, err
	}
	return canon.Obj("initialized", true, "already_initialized", already, "settings", shown), nil
}

// EnsureInitialised sets a project up with the plainest settings when it has
// none, and reports whether it did.
func (b *Base) EnsureInitialised(ctx context.Context) (created bool, err error) {
	_, already, err := b.initialise(ctx, "installing host config: existing .archcore/ settings unreadable",
		func() (*canon.Object, error) { return canon.Obj("sync", "none"), nil })
	return err == nil && !already, err
}

func (b *Base) initialise(ctx context.Context, unreadable string, make func() (*canon.Object, error)) (shown *canon.Object, already bool, err error) {
	err = b.write(ctx, true, func(v *view) (*plan, error) {
		if v.settingsErr != nil {
			reason := ioClass(v.settingsErr)
			if errors.Is(v.settingsErr, errSettings) {
				reason = v.settingsErr.Error()
			}
			return nil, fault.Wrap(v.settingsErr, fault.Refused, "%s: %s", unreadable, reason).
				WithHint("repair .archcore/settings.json, or remove it and try again")
		}
		if already = v.settings != nil; already {
			shown = v.settings.object
			return &plan{}, nil
		}
		if shown, err = make(); err != nil {
			return nil, err
		}
		data := settingsBytes(shown)
		return &plan{changes: []change{b.hist.settingsEvent(&settings{object: shown}, data)}, edits: []edit{{file: settingsFile, data: data, create: true,
			fail: func(err error) error { return fault.Wrap(err, fault.Refused, "saving settings: %s", ioClass(err)) }}}}, nil
	})
	return shown, already, err
}
