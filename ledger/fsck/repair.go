package fsck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Options are how a repair is done.
type Options struct {
	Wait time.Duration // how long a busy file is waited for
	// AcceptLoss puts the repaired file in place, although events may be lost
	// that were acknowledged. Without it nothing of the ledger is touched.
	AcceptLoss bool
	Now        func() time.Time
	// Fault is asked before each change of a file and may fail it; tests use it.
	Fault func(op string) error
}

func (o Options) disk() disk.Disk { return disk.Disk{Fault: o.Fault} }

// Result is what a repair found and did. Paths are for the operator's terminal.
type Result struct {
	Opened     bool   `json:"opened"`     // the file opened as it was
	CutAt      int64  `json:"cut_at"`     // byte at which the write-ahead log was cut, -1 when it was not
	Cuts       int    `json:"cuts"`       // cuts that were tried
	Events     int64  `json:"events"`     // events of the recovered log
	HeadSeq    int64  `json:"head_seq"`   // event that was last acknowledged, 0 unknown
	Lost       int64  `json:"lost"`       // acknowledged events that are gone
	HeadState  string `json:"head_state"` // fits, behind, lost, rewritten, damaged or absent
	Verified   bool   `json:"verified"`   // the recovered ledger verifies
	Problem    string `json:"problem"`    // what verification says, when it does not
	Installed  bool   `json:"installed"`  // the recovered file took the place of the damaged one
	Quarantine string `json:"quarantine"` // folder with the untouched originals, "" when nothing was replaced

	link string // of the last recovered event
}

// Repair examines a ledger file. It works on a copy beside the file; only
// AcceptLoss puts that copy in place, and then the originals are kept.
func Repair(ctx context.Context, path string, o Options) (*Result, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "there is no ledger file to repair")
	}
	var res *Result
	err := duck.Hold(ctx, o.disk(), path, o.Wait, func() error {
		var err error
		res, err = repair(ctx, path, o)
		return err
	})
	return res, err
}

func repair(ctx context.Context, path string, o Options) (*Result, error) {
	d := o.disk()
	work, err := d.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".repair-*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("make repair folder: %w", err)
	}
	defer func() { _ = d.RemoveAll(work) }() // what stays is found by doctor
	copyPath := filepath.Join(work, "ledger.duckdb")
	if _, err := d.Copy(path, copyPath); err != nil {
		return nil, err
	}
	if _, err := d.Copy(duck.LogPath(path), duck.LogPath(copyPath)); err != nil {
		return nil, err
	}
	res := &Result{CutAt: -1}
	if err := openCopy(ctx, d, copyPath, path, res); err != nil {
		return res, err
	}
	if err := examine(ctx, d, copyPath, path, res); err != nil {
		return res, err
	}
	if !o.AcceptLoss || res.Opened && res.HeadState == "fits" {
		return res, nil
	}
	return res, install(ctx, d, path, copyPath, o.Now(), res)
}

// openCopy opens the copy. Where its write-ahead log can't be replayed, it is cut
// to the longest beginning that can.
func openCopy(ctx context.Context, d disk.Disk, path, original string, res *Result) error {
	err := tryOpen(ctx, path, true)
	if err == nil || !errors.Is(err, duck.ErrDamagedLog) {
		res.Opened = err == nil
		return err
	}
	info, serr := os.Stat(duck.LogPath(path))
	if serr != nil {
		return err
	}
	c := &cutter{ctx: ctx, d: d, path: path, original: original, res: res}
	at, err := longest(info.Size(), err, func(at int64) error { return c.try(at, false) })
	if err != nil {
		return err
	}
	return c.try(at, true)
}

// cutter cuts a copy of a write-ahead log.
type cutter struct {
	ctx            context.Context
	d              disk.Disk
	path, original string
	res            *Result
}

// longest finds where to cut a log that can't be replayed. The byte at which
// replay stopped is it, unless it lies behind the beginning of the damaged entry:
// then longest goes back in growing steps until the rest opens, and forward again
// to the last place that does. try opens the log's first bytes.
func longest(size int64, damaged error, try func(at int64) error) (int64, error) {
	bad, step := size, int64(1)
	at, named := stopped(damaged, bad)
	for {
		if !named {
			at, step = max(0, bad-step), 2*step
		}
		err := try(at)
		if err == nil {
			break
		}
		if !errors.Is(err, duck.ErrDamagedLog) || at == 0 {
			return 0, err
		}
		bad = at
		at, named = stopped(err, bad)
	}
	if named {
		return at, nil
	}
	for good := at; ; {
		if bad-good <= 1 {
			return good, nil
		}
		middle := good + (bad-good)/2
		switch err := try(middle); {
		case err == nil:
			good = middle
		case errors.Is(err, duck.ErrDamagedLog):
			bad = middle
		default:
			return 0, err
		}
	}
}

// stopped is the byte at which replay of a log of some size stopped; named is
// false when it tells nothing that is not known.
func stopped(err error, size int64) (at int64, named bool) {
	at, named = duck.DamagedAt(err)
	return at, named && at < size
}

// try opens the copy with the log's first bytes alone. Unless it is the last
// try, the file stays as it was.
func (c *cutter) try(at int64, last bool) error {
	log := duck.LogPath(c.path)
	err := c.d.Clear(log)
	if err == nil {
		_, err = c.d.Copy(duck.LogPath(c.original), log)
	}
	if err == nil {
		err = c.d.Truncate(log, at)
	}
	if err != nil {
		return fmt.Errorf("cut log: %w", err)
	}
	c.res.CutAt = at
	c.res.Cuts++
	return tryOpen(c.ctx, c.path, last)
}

// tryOpen opens a file and closes it again; settled, it has no write-ahead log
// then.
func tryOpen(ctx context.Context, path string, settled bool) error {
	s, err := duck.OpenStore(path, duck.Options{Wait: time.Second, Threads: 1})
	if err != nil {
		return err
	}
	err = s.Use(ctx, func(db *duck.DB) error {
		if !settled {
			return nil
		}
		return db.Checkpoint(ctx)
	})
	return errors.Join(err, s.Close())
}

// examine verifies the copy and compares it with the ledger's remembered head.
func examine(ctx context.Context, d disk.Disk, copyPath, path string, res *Result) error {
	// The copy has a head of its own by now; it must be judged against the ledger's.
	if err := d.Clear(duck.HeadPath(copyPath)); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	l, err := ledger.Open(copyPath, ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	var report ledger.Report
	verr := l.Verify(ctx, &report)
	if verr != nil && fault.As(verr) == nil {
		return verr
	}
	res.Verified = verr == nil
	if verr != nil {
		res.Problem = verr.Error()
	}
	res.Events, res.link = report.Events, report.Head
	head, found, err := duck.ReadHead(duck.HeadPath(path))
	switch {
	case errors.Is(err, duck.ErrHeadDamaged):
		res.HeadState = "damaged"
		return nil
	case err != nil:
		return err
	case !found || head.Seq == 0:
		res.HeadState = "absent"
		return nil
	}
	res.HeadSeq = head.Seq
	res.HeadState, res.Lost = compareHead(ctx, l, head, report)
	return nil
}

func compareHead(ctx context.Context, l *ledger.Ledger, head duck.Head, report ledger.Report) (state string, lost int64) {
	if report.Events < head.Seq {
		return "lost", head.Seq - report.Events
	}
	for e, err := range l.Events(ctx, ledger.Filter{After: head.Seq - 1}) {
		if err != nil || e.Link() != head.Link {
			return "rewritten", 0
		}
		break
	}
	if report.Events > head.Seq {
		return "behind", 0 // a crash between commit and head: nothing is lost
	}
	return "fits", 0
}

// install keeps the originals in a folder and puts the recovered file in place,
// with a head that says where it ends.
func install(ctx context.Context, d disk.Disk, path, copyPath string, now time.Time, res *Result) error {
	if !res.Verified {
		return fault.New(fault.Damaged, "the recovered ledger does not verify, so it was not put in place: %s", res.Problem).
			WithHint("restore the newest backup that verifies")
	}
	dir := path + ".quarantine-" + now.UTC().Format("20060102T150405Z")
	if err := d.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make quarantine: %w", err)
	}
	for _, p := range []string{path, duck.LogPath(path), duck.HeadPath(path)} {
		if _, err := d.Copy(p, filepath.Join(dir, filepath.Base(p))); err != nil {
			return errors.Join(err, d.RemoveAll(dir)) // the originals are still in place
		}
	}
	res.Quarantine = dir
	if err := d.Sync(filepath.Dir(path)); err != nil { // the quarantine's own name
		return fmt.Errorf("make quarantine: %w", err)
	}
	if err := tryOpen(ctx, copyPath, true); err != nil {
		return err
	}
	// A log of which nothing could be replayed outlives the checkpoint.
	if err := d.Clear(duck.LogPath(copyPath)); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	if err := duck.WriteHead(d, duck.HeadPath(copyPath), duck.Head{Log: "main", Seq: res.Events, Link: res.link}); err != nil {
		return err
	}
	if err := duck.Install(d, copyPath, path); err != nil {
		return err
	}
	res.Installed = true
	return nil
}
