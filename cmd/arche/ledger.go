package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/fsck"
	"github.com/arche-ledger/arche/ledger/proof"
)

// newLedger groups the commands that look after the ledger file itself.
func newLedger(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ledger",
		Short:   "Verify, rebuild, repair and back up the ledger",
		Long:    "Look after the ledger file: check every byte of it, read its log, sign checkpoints, repair, back up, restore.",
		Example: "  arche ledger verify --ledger work.duckdb",
	}
	cmd.AddCommand(newLedgerVerify(a), newLedgerRebuild(a), newLedgerLog(a), newLedgerCheckpoint(a),
		newLedgerRepair(a), newLedgerBackup(a), newLedgerRestore(a), newLedgerEncrypt(a), newLedgerDecrypt(a))
	return cmd
}

// pinnedKey reads a public key: a did:key, or a PEM file.
func (a *app) pinnedKey(text string) ([]byte, error) {
	if strings.HasPrefix(text, "did:") {
		return attest.DecodeDID(text)
	}
	data, err := a.readInput(text, 1<<16)
	if err != nil {
		return nil, err
	}
	return attest.ParsePublicPEM(data)
}

func newLedgerVerify(a *app) *cobra.Command {
	var asJSON bool
	var against, public string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every event, link, content and projection row",
		Long: "Recompute the address and link of every event, the head, every content, and every projection row. Exit 3 when\n" +
			"anything differs. With --against the first events must also be those a kept checkpoint was signed over.",
		Example: "  arche ledger verify --ledger work.duckdb\n  arche ledger verify --against checkpoint.txt --public-key did:key:z6Mk...",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLedger(func(l *ledger.Ledger) error {
				var report ledger.Report
				err := l.Verify(cmd.Context(), &report)
				if err != nil && !fault.Is(err, fault.Damaged) {
					return err
				}
				if err == nil && against != "" {
					err = a.verifyAgainst(cmd.Context(), l, against, public)
					if fault.Is(err, fault.Damaged) {
						report.Findings = append(report.Findings, ledger.Finding{Table: "events", Field: "link", What: err.Error()})
					} else if err != nil {
						return err
					}
				}
				return a.showReport(&report, err, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().StringVar(&against, "against", "", "checkpoint file that was kept elsewhere")
	cmd.Flags().StringVar(&public, "public-key", "", "who signed it: a did:key or a PEM file")
	return cmd
}

func (a *app) verifyAgainst(ctx context.Context, l *ledger.Ledger, file, public string) error {
	if public == "" {
		return usagef("--against needs --public-key: who signed is decided by you, not by the file")
	}
	key, err := a.pinnedKey(public)
	if err != nil {
		return err
	}
	note, err := a.readInput(file, 1<<16)
	if err != nil {
		return err
	}
	_, err = l.VerifyAgainst(ctx, string(note), key)
	return err
}

func (a *app) showReport(r *ledger.Report, verdict error, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		a.rowf("events", "%d", r.Events)
		a.rowf("head", "%s", r.Head)
		for _, n := range r.Notes {
			a.rowf("note", "%s", n)
		}
		for _, f := range r.Findings {
			a.rowf("finding", "event %d  %s.%s: %s", f.Seq, f.Table, f.Field, f.What)
			if f.Event != "" {
				a.printf("%14s%s\n", "", f.Event)
			}
		}
		if verdict == nil {
			a.printf("OK\n")
		} else {
			a.printf("NOT OK\n")
		}
	}
	if verdict != nil {
		return errFindings
	}
	return nil
}

func newLedgerRebuild(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "rebuild",
		Short:   "Make every projection again from the log",
		Long:    "Empty the projection tables and fill them again from the log. A whole ledger does not change by a byte.",
		Example: "  arche ledger rebuild --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLedger(func(l *ledger.Ledger) error {
				if err := l.Rebuild(cmd.Context()); err != nil {
					return err
				}
				_, seq, _, err := l.Head(cmd.Context())
				if err == nil {
					a.printf("rebuilt from %d events\n", seq)
				}
				return err
			})
		},
	}
}

func newLedgerLog(a *app) *cobra.Command {
	var asJSON, reverse bool
	var filter ledger.Filter
	var kinds []string
	var limit int
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "List the events of the log",
		Long:    "List events in the order they were appended: number, time, kind, actor, subject. Events hold no values.",
		Example: "  arche ledger log --kind decision.recorded --limit 20 --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(kinds) > 0 {
				filter.Kinds = kinds
			}
			return a.withLedger(func(l *ledger.Ledger) error {
				var events []ledger.Event
				for e, err := range l.Events(cmd.Context(), filter) {
					if err != nil {
						return err
					}
					if events = append(events, e); !reverse && limit > 0 && len(events) == limit {
						break
					}
					if reverse && limit > 0 && len(events) > limit {
						events = events[1:]
					}
				}
				for i := range events {
					if reverse {
						i = len(events) - 1 - i
					}
					if err := a.showEvent(&events[i], asJSON); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON object a line, bodies included")
	f.BoolVar(&reverse, "reverse", false, "newest first")
	f.Int64Var(&filter.After, "after", 0, "only events behind this number")
	f.StringSliceVar(&kinds, "kind", nil, "only events of this kind (may be repeated)")
	f.StringVar(&filter.Subject, "subject", "", "only events about this subject")
	f.IntVar(&limit, "limit", 0, "at most this many")
	return cmd
}

func (a *app) showEvent(e *ledger.Event, asJSON bool) error {
	if !asJSON {
		a.printf("%8d  %s  %-18s %s  %s\n", e.Seq(), e.RecordedAt().Format("2006-01-02T15:04:05Z"), e.Kind(), e.Actor(), e.Subject())
		return nil
	}
	body, err := e.Body()
	if err != nil {
		return err
	}
	var supersedes any
	if e.Supersedes() != "" {
		supersedes = e.Supersedes()
	}
	return a.printJSONLine(canon.Obj("log", e.Log(), "seq", e.Seq(), "v", e.Version(), "id", e.ID(), "kind", e.Kind(), "subject", e.Subject(),
		"supersedes", supersedes, "body", body, "actor", e.Actor(), "recorded_at", e.RecordedAt().Format("2006-01-02T15:04:05.000000Z"), "link", e.Link()))
}

// signingKey is the key of --signing-key or ARCHE_SIGNING_KEY.
func (a *app) signingKey(flag string) (*attest.Key, error) {
	path := flag
	if path == "" {
		path = a.env("ARCHE_SIGNING_KEY")
	}
	if path == "" {
		return nil, fault.New(fault.Invalid, "no signing key given").
			WithHint("pass --signing-key FILE or set ARCHE_SIGNING_KEY; make a key with: arche attest keygen FILE")
	}
	return attest.LoadKey(path)
}

func newLedgerCheckpoint(a *app) *cobra.Command {
	var keyFile, out string
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Sign the log as it stands",
		Long: "Sign the size and root of the log as a C2SP checkpoint, keep it in the log and print it. Give it into other\n" +
			"hands: who holds both the file and the key could otherwise write everything anew.",
		Example: "  arche ledger checkpoint --signing-key key.pem --out checkpoint.txt --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := a.signingKey(keyFile)
			if err != nil {
				return err
			}
			if err := freshOut(out); err != nil {
				return err
			}
			return a.withLedger(func(l *ledger.Ledger) error {
				note, err := l.Checkpoint(cmd.Context(), key)
				if err != nil {
					return err
				}
				return a.writeOut(out, []byte(note))
			})
		},
	}
	cmd.Flags().StringVar(&keyFile, "signing-key", "", "private key, PEM (default: ARCHE_SIGNING_KEY)")
	cmd.Flags().StringVar(&out, "out", "", "write the checkpoint to this new file")
	return cmd
}

// freshOut refuses an output file that is there already, before any work is done.
func freshOut(name string) error {
	if name == "" {
		return nil
	}
	if _, err := os.Lstat(name); err == nil {
		return fault.New(fault.Invalid, "%s exists already", name).WithHint("name a file that is not there yet")
	}
	return nil
}

// writeOut writes to a new private file, or to standard output when name is "".
func (a *app) writeOut(name string, data []byte) error {
	if name == "" {
		_, err := a.stdout.Write(data)
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // named by the operator
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "%s cannot be made", name).WithHint("name a file that is not there yet, in a folder that is")
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		a.printf("wrote %s\n", name)
	}
	return err
}

// ledgerFile is the file of the ledger this run works on; commands that work on
// the file itself need one.
func (a *app) ledgerFile() (string, ledger.Options, error) {
	uri, err := a.needLedgerURI()
	if err != nil {
		return "", ledger.Options{}, err
	}
	opts, err := a.ledgerOptions()
	if err != nil {
		return "", opts, err
	}
	opts.Actor = a.actor("cli")
	path, err := ledger.FilePath(uri)
	if err == nil && path == "" {
		err = fault.New(fault.Invalid, "a ledger in memory has no file to work on").WithHint("pass --ledger FILE.duckdb")
	}
	return path, opts, err
}

func newLedgerRepair(a *app) *cobra.Command {
	var accept, asJSON bool
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Recover a ledger that does not open or lost events",
		Long: "Work on a copy: cut a damaged write-ahead log where it can no longer be read, verify what is left, and compare\n" +
			"it with the remembered head. Nothing of the ledger is touched unless --accept-loss is given; then the recovered\n" +
			"file takes its place and the originals stay in a quarantine folder beside it. Exit 3 when events were lost.",
		Example: "  arche ledger repair --ledger work.duckdb\n  arche ledger repair --accept-loss --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, opts, err := a.ledgerFile()
			if err != nil {
				return err
			}
			wait := opts.Wait
			if wait == 0 {
				wait = ledger.DefaultWait
			}
			res, err := fsck.Repair(cmd.Context(), path, fsck.Options{Wait: wait, AcceptLoss: accept, Now: time.Now})
			if err != nil {
				return err
			}
			return a.showRepair(res, asJSON)
		},
	}
	cmd.Flags().BoolVar(&accept, "accept-loss", false, "put the recovered ledger in place, keeping the originals")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func (a *app) showRepair(r *fsck.Result, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		a.rowf("events", "%d", r.Events)
		if r.CutAt >= 0 {
			a.rowf("log cut", "at byte %d (%d cuts)", r.CutAt, r.Cuts)
		}
		a.rowf("head", "%s (event %d was acknowledged last)", r.HeadState, r.HeadSeq)
		a.rowf("lost", "%d acknowledged events", r.Lost)
		if r.Verified {
			a.rowf("verified", "yes")
		} else {
			a.rowf("verified", "no: %s", r.Problem)
		}
		switch {
		case r.Installed:
			a.rowf("installed", "yes; the originals are in %s", r.Quarantine)
		case r.Opened && r.HeadState == "fits" || r.HeadState == "behind":
			a.printf("nothing to repair\n")
		default:
			a.printf("nothing was changed; arche ledger repair --accept-loss puts the recovered ledger in place\n")
		}
	}
	if r.Lost > 0 || !r.Verified || r.HeadState == "rewritten" {
		return errFindings
	}
	return nil
}

func newLedgerBackup(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR",
		Short: "Write a backup of a live ledger into a new folder",
		Long: "Write events, contents and the head as text with hashes into a new folder. The ledger may be in use: the backup\n" +
			"is of one moment. It holds the records' values; its files are readable by you alone.",
		Example: "  arche ledger backup backups/2026-12-01 --ledger work.duckdb",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLedger(func(l *ledger.Ledger) error {
				info, err := l.Backup(cmd.Context(), args[0])
				if err == nil {
					a.printf("%d events and %d contents, head %s\n", info.Events, info.Blobs, info.Link)
				}
				return err
			})
		},
	}
}

func newLedgerRestore(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR",
		Short: "Make a ledger of a backup",
		Long: "Make the ledger file named by --ledger, which must not exist, of a backup. Every hash, address, link and content\n" +
			"is recomputed and the head compared; the file appears only when all of it fits.",
		Example: "  arche ledger restore backups/2026-12-01 --ledger restored.duckdb",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, opts, err := a.ledgerFile()
			if err != nil {
				return err
			}
			info, err := ledger.Restore(cmd.Context(), args[0], path, opts)
			if err == nil {
				a.printf("%d events and %d contents, head %s\n", info.Events, info.Blobs, info.Link)
			}
			return err
		},
	}
}

// newProve makes and checks proof files.
func newProve(a *app) *cobra.Command {
	var keyFile, out, check, public string
	cmd := &cobra.Command{
		Use:   "prove ID | prove --check FILE --public-key KEY",
		Short: "Prove that an event is in the log, offline",
		Long: "Write a proof file for a decision or event: the event, its place in the tree of a checkpoint signed now, and the\n" +
			"checkpoint. With --check read such a file, without any ledger, against the key of who is said to have signed it.",
		Example: "  arche prove xwd:sha256:a96f... --signing-key key.pem --out proof.json --ledger work.duckdb\n" +
			"  arche prove --check proof.json --public-key did:key:z6Mk...",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case check != "" && len(args) > 0:
				return usagef("--check reads a file; leave the id out")
			case check != "":
				return a.checkProof(check, public)
			case len(args) == 0:
				return usagef("an id or --check is needed")
			}
			key, err := a.signingKey(keyFile)
			if err != nil {
				return err
			}
			if err := freshOut(out); err != nil {
				return err
			}
			return a.withLedger(func(l *ledger.Ledger) error {
				data, err := l.Prove(cmd.Context(), args[0], key)
				if err != nil {
					return err
				}
				return a.writeOut(out, data)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&keyFile, "signing-key", "", "private key, PEM (default: ARCHE_SIGNING_KEY)")
	f.StringVar(&out, "out", "", "write the proof to this new file")
	f.StringVar(&check, "check", "", "check this proof file")
	f.StringVar(&public, "public-key", "", "who is said to have signed: a did:key or a PEM file")
	return cmd
}

func (a *app) checkProof(file, public string) error {
	if public == "" {
		return usagef("--check needs --public-key: who signed is decided by you, not by the file")
	}
	key, err := a.pinnedKey(public)
	if err != nil {
		return err
	}
	data, err := a.readInput(file, 16<<20)
	if err != nil {
		return err
	}
	p, c, err := ledger.CheckProof(data, key)
	if err != nil {
		return err
	}
	a.rowf("event", "%s", p.Event.ID)
	a.rowf("kind", "%s", p.Event.Kind)
	a.rowf("subject", "%s", p.Event.Subject)
	a.rowf("recorded", "%s by %s", p.Event.RecordedAt, p.Event.Actor)
	a.rowf("place", "%d of %d", p.Event.Seq, c.Size)
	a.rowf("root", "%s", proof.Hex(c.Root))
	a.rowf("log", "%s", c.Origin)
	a.rowf("signed by", "%s", p.Key)
	a.printf("OK\n")
	return nil
}
