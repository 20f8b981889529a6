package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/ledger/fsck"
)

// newDoctor tells the state of the ledger and of the project's documents and
// what to do about it.
func newDoctor(a *app) *cobra.Command {
	var project string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell the state of the ledger and documents and what to do about it",
		Long: "Tell who holds the ledger, where its log ends, its sizes, format and free space, and what to do about each\n" +
			"problem found. In a project with .archcore/ the documents are looked at as arche doc check does, writes that\n" +
			"were begun and not ended included; without --ledger and ARCHE_LEDGER the ledger is then the project's own.\n" +
			"Exit 3 when there is a problem.",
		Example: "  arche doctor --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, refusal := a.projectRoot(project)
			inProject := refusal == nil && hasDocuments(root)
			path, opts, err := a.doctorFile(root, inProject)
			if err != nil {
				return err
			}
			s, err := fsck.Doctor(cmd.Context(), path, opts)
			if err != nil {
				return err
			}
			d := diagnosis{State: s}
			if inProject {
				if d.Documents, err = a.diagnoseDocuments(cmd.Context(), project, s.Exists); err != nil {
					return err
				}
			}
			return a.showDiagnosis(path, d, asJSON)
		},
	}
	projectFlag(cmd, &project)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the state as JSON")
	return cmd
}

// diagnosis is what doctor tells; Documents is nil outside a project.
type diagnosis struct {
	*fsck.State
	Documents *documentsState `json:"documents,omitempty"`
}

// documentsState is the state of a project's documents. They are not looked at
// before their ledger exists, because looking tells the ledger of them.
type documentsState struct {
	Looked   bool  `json:"looked"`
	Findings []any `json:"findings"`

	list []documents.Finding
}

func hasDocuments(root string) bool {
	info, err := os.Stat(filepath.Join(root, ".archcore"))
	return err == nil && info.IsDir()
}

// doctorFile is the ledger named, or else the project's own.
func (a *app) doctorFile(root string, inProject bool) (string, ledger.Options, error) {
	if a.ledgerURI() != "" || !inProject {
		return a.ledgerFile()
	}
	opts, err := a.ledgerOptions()
	opts.Actor = a.actor("cli")
	return filepath.Join(root, ".archcore", ".ledger", "ledger.duckdb"), opts, err
}

func (a *app) diagnoseDocuments(ctx context.Context, project string, ledgerExists bool) (*documentsState, error) {
	d := &documentsState{Looked: ledgerExists, Findings: []any{}}
	if !ledgerExists {
		return d, nil
	}
	err := a.withDocuments(ctx, project, func(ctx context.Context, b *documents.Base) error {
		var err error
		d.list, err = documents.Diagnose(ctx, b)
		return err
	})
	for _, f := range d.list {
		d.Findings = append(d.Findings, findingObject(f))
	}
	return d, err
}

// showDiagnosis prints a diagnosis and ends with errFindings when anything in it
// needs somebody.
func (a *app) showDiagnosis(path string, d diagnosis, asJSON bool) error {
	bad := len(d.Problems) > 0
	if d.Documents != nil {
		for _, f := range d.Documents.list {
			bad = bad || f.Code != "moved"
		}
	}
	if asJSON {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.showState(path, d.State)
		a.showDocuments(d.Documents)
		if !bad {
			a.printf("no problem found\n")
		}
	}
	if bad {
		return errFindings
	}
	return nil
}

func (a *app) showState(path string, s *fsck.State) {
	a.rowf("ledger", "%s", path)
	if s.Exists {
		a.rowf("size", "%d KB, write-ahead log %d KB, mode %s", s.FileBytes>>10, s.LogBytes>>10, s.Mode)
		a.rowf("format", "storage %d, ledger 1, DuckDB %s", s.Storage, s.Engine)
		a.rowf("events", "%d", s.Events)
		if !s.LastEvent.IsZero() {
			a.rowf("last event", "%s", s.LastEvent.Format("2006-01-02T15:04:05Z"))
		}
		a.rowf("head", "event %d acknowledged", s.HeadSeq)
	} else {
		a.rowf("file", "not made yet; the first call makes it")
	}
	holder := s.Holder
	if holder == "" {
		holder = "nobody"
	}
	a.rowf("held by", "%s", holder)
	a.rowf("free space", "%d MB", s.FreeBytes>>20)
	for _, p := range s.Problems {
		a.rowf("problem", "%s", p.What)
		a.rowf("  do", "%s", p.Do)
	}
}

func (a *app) showDocuments(d *documentsState) {
	switch {
	case d == nil:
	case !d.Looked:
		a.rowf("documents", "not looked at, for the ledger is not made yet; arche doc check makes it and looks")
	case len(d.list) == 0:
		a.rowf("documents", "nothing to tell")
	default:
		a.rowf("documents", "%d to tell", len(d.list))
		for _, f := range d.list {
			a.rowf("finding", "%s: %s: %s", findingPlace(f), f.Code, f.Message)
			a.rowf("  do", "%s", f.Hint)
		}
	}
}
