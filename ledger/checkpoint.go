package ledger

import (
	"context"
	"crypto/ed25519"
	"database/sql/driver"
	"strings"
	"time"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/proof"
)

// KindCheckpointSigned is a checkpoint kept in the log that it is over.
const KindCheckpointSigned = "checkpoint.signed"

// links reads the links of the first n events in order.
func links(ctx context.Context, db *duck.DB, n int64) ([]string, error) {
	var out []string
	err := db.Query(ctx, `SELECT seq, link FROM events WHERE seq <= ? ORDER BY seq`, []any{n}, func(v []driver.Value) error {
		link, err := scanLink(v, int64(len(out))+1)
		out = append(out, link)
		return err
	})
	return out, err
}

// scanLink reads a seq and a link; the event must be the one at a place.
func scanLink(v []driver.Value, at int64) (string, error) {
	seq, _ := v[0].(int64)
	link, _ := v[1].(string)
	if seq != at {
		return "", altered("event %d is not where it belongs", seq)
	}
	if !new(address).decode(link) {
		return "", altered("event %d has no link", seq)
	}
	return link, nil
}

// grow brings the tree over the links up to the end of the log.
func (l *Ledger) grow(ctx context.Context, db *duck.DB, s *state) error {
	if l.tree == nil || int64(l.tree.Size()) > s.seq { //nolint:gosec // a log is shorter than 2^63
		l.tree = proof.NewTree()
	}
	return db.Query(ctx, `SELECT seq, link FROM events WHERE seq > ? ORDER BY seq`, []any{int64(l.tree.Size())}, func(v []driver.Value) error { //nolint:gosec // as above
		link, err := scanLink(v, int64(l.tree.Size())+1) //nolint:gosec // as above
		if err == nil {
			err = l.tree.Add(link)
		}
		return err
	})
}

// Checkpoint signs the log as it stands and keeps the checkpoint in it. The
// signed note is returned; give it into other hands, because whoever holds the
// file and the key can write everything anew.
func (l *Ledger) Checkpoint(ctx context.Context, key proof.Signer) (string, error) {
	var text string
	err := l.write(ctx, func(u *unit) error {
		var err error
		text, err = u.checkpoint(ctx, key)
		return err
	})
	return text, err
}

func (u *unit) checkpoint(ctx context.Context, key proof.Signer) (string, error) {
	if u.s.seq == 0 {
		return "", fault.New(fault.Invalid, "the ledger is empty: there is nothing to sign yet")
	}
	if err := u.l.grow(ctx, u.db, u.s); err != nil {
		return "", err
	}
	root, err := u.l.tree.Root()
	if err != nil {
		return "", err
	}
	origin, err := originOf(ctx, u.db)
	if err != nil {
		return "", err
	}
	text, err := proof.Sign(proof.Checkpoint{Origin: origin, Size: u.l.tree.Size(), Root: root}, key)
	if err != nil {
		return "", err
	}
	_, err = u.draft(ctx, &Draft{
		Kind: KindCheckpointSigned, Subject: "log:" + logMain,
		Body: canon.Obj("size", int64(u.l.tree.Size()), "root", proof.Hex(root), "note", text), //nolint:gosec // as above
	})
	return text, err
}

func originOf(ctx context.Context, db *duck.DB) (string, error) {
	first, err := links(ctx, db, 1)
	if err == nil && len(first) == 0 {
		err = altered("event 1 is gone")
	}
	if err != nil {
		return "", err
	}
	return proof.Origin(first[0]), nil
}

// checkpointDue reports whether so many events followed the last checkpoint
// that the next one is to be signed by itself.
func (l *Ledger) checkpointDue(s *state) bool {
	if l.opts.Signer == nil || l.opts.CheckpointEvery <= 0 {
		return false
	}
	return s.seq-s.others["log:"+logMain].seq >= l.opts.CheckpointEvery
}

// VerifyAgainst compares the log with a checkpoint that was kept elsewhere:
// the first events must be those that were signed. key is the signer's.
func (l *Ledger) VerifyAgainst(ctx context.Context, note string, key ed25519.PublicKey) (proof.Checkpoint, error) {
	c, err := proof.Open(note, key)
	if err != nil {
		return c, err
	}
	err = l.use(ctx, func(db *duck.DB, s *state) error {
		origin := ""
		if s.seq > 0 {
			var err error
			if origin, err = originOf(ctx, db); err != nil {
				return err
			}
		}
		if origin != c.Origin {
			return fault.Wrap(ErrRewritten, fault.Damaged, "the checkpoint is of another ledger, or the first event was replaced")
		}
		if int64(c.Size) > s.seq { //nolint:gosec // checked by the signer
			return fault.Wrap(ErrTruncated, fault.Damaged, "the checkpoint is over %d events and the log has %d", c.Size, s.seq)
		}
		all, err := links(ctx, db, int64(c.Size)) //nolint:gosec // as above
		if err != nil {
			return err
		}
		root, err := rootOf(all)
		if err != nil {
			return err
		}
		if proof.Hex(root) != proof.Hex(c.Root) {
			return fault.Wrap(ErrRewritten, fault.Damaged, "the first %d events are not those that the checkpoint was signed over", c.Size)
		}
		return nil
	})
	return c, err
}

// rootOf is the root over the links of a log.
func rootOf(links []string) (root []byte, err error) {
	tree := proof.NewTree()
	for n := 0; n < len(links) && err == nil; n++ {
		err = tree.Add(links[n])
	}
	if err == nil {
		root, err = tree.Root()
	}
	return root, err
}

// Prove makes the proof file of an event (evt:...) or of the event of a decision
// (its public id): the event, its place under a checkpoint that key signs now.
func (l *Ledger) Prove(ctx context.Context, id string, key proof.Signer) ([]byte, error) {
	var file *proof.File
	err := l.write(ctx, func(u *unit) error {
		seq, err := u.eventOf(ctx, id)
		if err != nil {
			return err
		}
		note, err := u.checkpoint(ctx, key)
		if err != nil {
			return err
		}
		file, err = u.proofOf(ctx, seq, note)
		return err
	})
	if err != nil {
		return nil, err
	}
	file.Key = attest.EncodeDID(key.Public())
	return file.Marshal()
}

func (u *unit) eventOf(ctx context.Context, id string) (int64, error) {
	if !strings.HasPrefix(id, eventPrefix) {
		i, err := u.l.reader(ctx, u.db, u.s).find(id)
		if err != nil {
			return 0, err
		}
		return u.s.decs[i].seq, nil
	}
	seq := int64(0)
	err := u.db.Query(ctx, `SELECT seq FROM events WHERE id = ?`, []any{id}, func(v []driver.Value) error {
		seq, _ = v[0].(int64)
		return nil
	})
	if err == nil && seq == 0 {
		err = fault.New(fault.NotFound, "no event %s in this ledger", canon.Repr(clip(id)))
	}
	return seq, err
}

func (u *unit) proofOf(ctx context.Context, seq int64, note string) (*proof.File, error) {
	size := int64(u.l.tree.Size()) //nolint:gosec // a log is shorter than 2^63
	e, err := readEvent(ctx, u.db, seq)
	if err != nil {
		return nil, err
	}
	all, err := links(ctx, u.db, size)
	if err != nil {
		return nil, err
	}
	prev := zeroLink
	if seq > 1 {
		prev = all[seq-2]
	}
	hashes, err := proof.Inclusion(all, uint64(seq-1)) //nolint:gosec // at least 1
	if err != nil {
		return nil, err
	}
	return &proof.File{
		Event: proof.Event{
			Log: e.log, ID: e.id, Kind: e.kind, Subject: e.subject, Supersedes: e.supersedes, Body: e.body, Actor: e.actor,
			RecordedAt: e.recordedAt.UTC().Format(timeForm), Prev: prev, Link: e.link, Seq: e.seq, Version: e.version,
		},
		Size: u.l.tree.Size(), Hashes: hashes, Checkpoint: note,
	}, nil
}

// CheckProof checks a proof file offline against the key of the one who is said
// to have signed it.
func CheckProof(data []byte, key ed25519.PublicKey) (*proof.File, proof.Checkpoint, error) {
	return proof.Check(data, key, rehash)
}

// rehash recomputes an event's address and link from a proof.
func rehash(p *proof.Event) (id, link string, err error) {
	at, err := time.Parse(timeForm, p.RecordedAt)
	if err != nil {
		return "", "", err
	}
	if p.Version != eventVersion {
		return "", "", fault.New(fault.Invalid, "the event has a version this program does not know")
	}
	e := Event{log: p.Log, seq: p.Seq, actor: p.Actor, recordedAt: at.UTC(), id: p.ID}
	return eventID(p.Version, p.Kind, p.Subject, p.Supersedes, p.Body), chainLink(p.Prev, &e), nil
}
