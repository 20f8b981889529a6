package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// newLedgerEncrypt writes an encrypted copy of the ledger.
func newLedgerEncrypt(a *app) *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:   "encrypt OUT",
		Short: "Write an encrypted copy of the ledger",
		Long: "Write a copy of the ledger to OUT, encrypted by DuckDB with the key in --key-file or ARCHE_LEDGER_KEY. Refused\n" +
			"where this DuckDB can't write encrypted files. arche works on plain files: decrypt the copy to use it.",
		Example: "  arche ledger encrypt offsite.duckdb --key-file ledger.key --ledger work.duckdb",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := a.ledgerKey(keyFile)
			if err != nil {
				return err
			}
			return a.withLedger(func(l *ledger.Ledger) error { return l.Encrypt(cmd.Context(), args[0], key) })
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "file whose first line is the key (default: ARCHE_LEDGER_KEY)")
	return cmd
}

// newLedgerDecrypt makes a ledger of an encrypted copy.
func newLedgerDecrypt(a *app) *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:     "decrypt IN",
		Short:   "Make a ledger of an encrypted copy",
		Long:    "Make the ledger file named by --ledger, which must not exist, of an encrypted copy, and verify it.",
		Example: "  arche ledger decrypt offsite.duckdb --key-file ledger.key --ledger work.duckdb",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := a.ledgerKey(keyFile)
			if err != nil {
				return err
			}
			path, opts, err := a.ledgerFile()
			if err != nil {
				return err
			}
			return ledger.Decrypt(cmd.Context(), args[0], key, path, opts)
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "file whose first line is the key (default: ARCHE_LEDGER_KEY)")
	return cmd
}

// ledgerKey reads an encryption key; it never stands on the command line.
func (a *app) ledgerKey(file string) (string, error) {
	if file == "" {
		if key := a.env("ARCHE_LEDGER_KEY"); key != "" {
			return key, nil
		}
		return "", fault.New(fault.Invalid, "no encryption key given").WithHint("pass --key-file or set ARCHE_LEDGER_KEY")
	}
	data, err := a.readInput(file, 1<<16)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(first), nil
}
