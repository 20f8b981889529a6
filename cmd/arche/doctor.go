package main

import (
	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/ledger/fsck"
)

// newDoctor tells the state of the ledger and what to do about it.
func newDoctor(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell the state of the ledger and what to do about it",
		Long: "Tell who holds the ledger, where its log ends, its sizes, format and free space, and what to do about each\n" +
			"problem found. Exit 3 when there is one.",
		Example: "  arche doctor --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, opts, err := a.ledgerFile()
			if err != nil {
				return err
			}
			s, err := fsck.Doctor(cmd.Context(), path, opts)
			if err != nil {
				return err
			}
			return a.showState(path, s, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the state as JSON")
	return cmd
}

func (a *app) showState(path string, s *fsck.State, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(s); err != nil {
			return err
		}
	} else {
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
		if len(s.Problems) == 0 {
			a.printf("no problem found\n")
		}
	}
	if len(s.Problems) > 0 {
		return errFindings
	}
	return nil
}
