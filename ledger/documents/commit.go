package documents

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// errMoved says that a file changed between being read and being replaced.
var errMoved = errors.New("file changed meanwhile")

// propose makes the plan of a write from what is on the disk. It changes
// nothing and may be called again. A plan without edits is a write that
// changes nothing.
type propose func(v *view) (*plan, error)

// write runs one write: check, project lock, look, plan, files, ledger.
// create makes .archcore/ when it is not there.
func (b *Base) write(ctx context.Context, create bool, make propose) error {
	v, err := b.see(ctx)
	if err != nil {
		return err
	}
	p, err := b.proposeEarly(v, make)
	if err != nil || len(p.edits) == 0 { // refused, or nothing to do: nothing is locked or made
		return err
	}
	b.writeMu.Lock()
	defer b.writeMu.Unlock()
	s, err := b.openStore(ctx, create, writeWait)
	if err != nil {
		return err
	}
	defer s.close()
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	for attempt := 0; ; attempt++ {
		if v, err = b.catchUpLocked(ctx, s); err != nil {
			return err
		}
		p, err := make(v)
		if err != nil {
			return err
		}
		err = b.commit(ctx, s, p)
		if errors.Is(err, errMoved) && attempt == 0 {
			continue
		}
		if errors.Is(err, errMoved) {
			return fault.New(fault.Busy, "the file is being changed by another program; nothing was written").
				WithHint("try again when the other program is done")
		}
		if err != nil {
			return err
		}
		return p.then
	}
}

// proposeEarly makes a plan before the lock is held, to refuse early.
func (b *Base) proposeEarly(v *view, make propose) (*plan, error) {
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	return make(v)
}

// commit carries a plan out. When it fails the files are put back; when the
// process dies the intent says what to do.
func (b *Base) commit(ctx context.Context, s *store, p *plan) error {
	if len(p.edits) == 0 {
		return nil
	}
	for i := range p.edits {
		e := &p.edits[i]
		if e.data != nil {
			e.after, e.temp = addressOf(e.data), tempName(e.file)
		}
	}
	intentPath := stateDir + "/" + intentFile
	if err := s.writeFile(intentPath, p.encode(ledger.ActorOf(ctx)), 0o600, b.step); err != nil {
		return p.stopped(s, 0, ioFault(err, "writing", basePrefix+intentPath), err)
	}
	if err := b.step("intent"); err != nil {
		return p.stopped(s, 0, err, err)
	}
	for i := range p.edits {
		if err := b.carryOut(s, &p.edits[i]); err != nil {
			return p.stopped(s, i, p.edits[i].word(err), err)
		}
	}
	if err := b.append(ctx, p.changes); err != nil {
		return p.stopped(s, len(p.edits), err, err)
	}
	if err := b.step("committed"); err != nil {
		return err
	}
	if err := s.root.Remove(intentPath); err != nil && !isNotExist(err) {
		return ioFault(err, "removing", basePrefix+intentPath)
	}
	return nil
}

// word is the error of an edit as clients read it.
func (e *edit) word(err error) error {
	if e.fail == nil || errors.Is(err, errMoved) || errors.Is(err, errKilled) || fault.As(err) != nil {
		return err
	}
	return e.fail(err)
}

// carryOut does one edit.
func (b *Base) carryOut(s *store, e *edit) error {
	if e.create {
		if err := s.makeFolders(path.Dir(e.file)); err != nil {
			return fault.Wrap(err, fault.Refused, "creating directory %q: %s", basePrefix+path.Dir(e.file), ioClass(err))
		}
	}
	if e.data != nil {
		mode := fs.FileMode(0o644)
		if !e.create {
			mode = s.modeOf(e.file, mode)
		}
		if err := s.writeTemp(e.temp, e.data, mode); err != nil {
			return err
		}
		if err := b.step("temporary file of " + e.file); err != nil {
			return err
		}
	}
	data, err := s.read(e.file)
	if err != nil && !isNotExist(err) {
		return err
	}
	if err == nil && e.create {
		return fs.ErrExist
	}
	if err == nil {
		e.old = data
		if addressOf(data) != e.before {
			return errMoved
		}
	} else if e.before != "" {
		return errMoved
	}
	switch {
	case e.data == nil:
		if err := s.root.Remove(e.file); err != nil {
			return err
		}
		err = s.syncDir(path.Dir(e.file))
	case e.create:
		err = s.place(e.temp, e.file)
	default:
		err = s.replace(e.temp, e.file)
	}
	if err != nil {
		return err
	}
	return b.step("changed " + e.file)
}

// stopped puts back what the first n edits and the one after them did, and
// returns what to tell. A process that is killed puts nothing back.
func (p *plan) stopped(s *store, n int, told, err error) error {
	if errors.Is(err, errKilled) {
		return err
	}
	undone := true
	for i := min(n, len(p.edits)-1); i >= 0; i-- {
		e := &p.edits[i]
		if e.temp != "" {
			_ = s.root.Remove(e.temp) // gone when the edit was done
		}
		now, err := s.addressAt(e.file)
		if err != nil || now == e.before {
			continue
		}
		if now != e.after {
			continue // somebody else's bytes: not ours to undo
		}
		if e.before == "" {
			err = s.root.Remove(e.file)
		} else {
			err = s.writeFile(e.file, e.old, s.modeOf(e.file, 0o644), nil)
		}
		undone = undone && err == nil
	}
	if undone { // else the next look finishes the write from the intent
		_ = s.root.Remove(stateDir + "/" + intentFile)
	}
	return told
}
