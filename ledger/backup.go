package ledger

import (
	"bufio"
	"context"
	"database/sql/driver"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// A backup is a folder of three files: events.jsonl and blobs.jsonl, one row a
// line in log order, and manifest.json, written last, with their hashes and the
// head. It holds the records' values, as the ledger does.
const (
	backupForm     = "arche.backup.v1"
	backupEvents   = "events.jsonl"
	backupBlobs    = "blobs.jsonl"
	backupManifest = "manifest.json"
)

// BackupInfo is what a backup holds.
type BackupInfo struct {
	Events int64  `json:"events"`
	Blobs  int64  `json:"blobs"`
	Link   string `json:"link"` // of the last event
}

// Backup writes the ledger, as it stands at one moment, into a new folder. The
// ledger is held while it is read; files are 0600 and the folder 0700.
func (l *Ledger) Backup(ctx context.Context, dir string) (*BackupInfo, error) {
	d := l.disk()
	if err := d.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, fault.Wrap(err, fault.Invalid, "the backup folder exists already").WithHint("name a folder that is not there yet")
		}
		return nil, fault.Wrap(err, fault.Invalid, "the backup folder cannot be made").WithHint("its parent must exist and be writable")
	}
	info := &BackupInfo{}
	err := l.use(ctx, func(db *duck.DB, s *state) error {
		info.Events, info.Link = s.seq, s.link
		sums := map[string]string{}
		for _, f := range []struct {
			name  string
			write func(out *bufio.Writer) error
		}{
			{backupEvents, func(out *bufio.Writer) error { return backupEventRows(ctx, db, out) }},
			{backupBlobs, func(out *bufio.Writer) (err error) { info.Blobs, err = backupBlobRows(ctx, db, out); return err }},
		} {
			sum, err := writeHashed(d, filepath.Join(dir, f.name), f.write)
			if err != nil {
				return err
			}
			sums[f.name] = sum
		}
		from, err := contentsFrom(ctx, db)
		if err != nil {
			return err
		}
		_, err = writeHashed(d, filepath.Join(dir, backupManifest), func(out *bufio.Writer) error {
			o := canon.Obj("form", backupForm, "format", formatVersion, "log", logMain, "events", info.Events, "blobs", info.Blobs,
				"link", info.Link, backupEvents, sums[backupEvents], backupBlobs, sums[backupBlobs])
			if from > 1 {
				o.Set(metaContents, from)
			}
			text, err := canon.Indent(o)
			if err == nil {
				_, err = out.Write(append(text, '\n'))
			}
			return err
		})
		return err
	})
	// The names are durable too: those of the files, then that of the folder.
	for _, f := range []string{dir, filepath.Dir(dir)} {
		if err == nil {
			err = d.Sync(f)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.RemoveAll(dir))
	}
	return info, nil
}

// disk is where the ledger's own files are changed.
func (l *Ledger) disk() disk.Disk { return disk.Disk{Fault: l.opts.Fault} }

// writeHashed writes a private file durably and returns its BLAKE3 hash.
func writeHashed(d disk.Disk, path string, write func(out *bufio.Writer) error) (string, error) {
	f, err := d.Create(path)
	if err != nil {
		return "", fmt.Errorf("write backup: %w", err)
	}
	h := blake3.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, h), 1<<16)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write backup: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func backupEventRows(ctx context.Context, db *duck.DB, out *bufio.Writer) error {
	for after := int64(0); ; after += foldChunk {
		batch, err := readEvents(ctx, db, after, foldChunk)
		if err != nil {
			return err
		}
		for i := range batch {
			e := &batch[i]
			err := writeLine(out, "log", e.log, "seq", e.seq, "v", e.version, "id", e.id, "kind", e.kind, "subject", e.subject,
				"supersedes", textOrNil(e.supersedes), "body", e.body, "actor", e.actor, "recorded_at", e.recordedAt.Format(timeForm), "link", e.link)
			if err != nil {
				return err
			}
		}
		if len(batch) < foldChunk {
			return nil
		}
	}
}

func backupBlobRows(ctx context.Context, db *duck.DB, out *bufio.Writer) (n int64, err error) {
	err = db.Query(ctx, `SELECT seq, address, bytes FROM blobs ORDER BY seq, address`, nil, func(v []driver.Value) error {
		seq, _ := v[0].(int64)
		address, _ := v[1].(string)
		data, _ := v[2].([]byte)
		n++
		return writeLine(out, "seq", seq, "address", address, "bytes", base64.StdEncoding.EncodeToString(data))
	})
	return n, err
}

// writeLine writes a row as a line: keys and values in turn.
func writeLine(out *bufio.Writer, row ...any) error {
	line, err := canon.Compact(canon.Obj(row...))
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	return err
}

// Restore makes a ledger file of a backup. Everything is recomputed on the way:
// the files' hashes, every address and link, the head, each content. The file
// appears only when all of it fits.
func Restore(ctx context.Context, dir, path string, opts Options) (info *BackupInfo, err error) {
	if err := duck.Vacant(path); err != nil {
		return nil, err
	}
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	err = makeBeside(ctx, path, opts, func(made string) error {
		return opening(made, opts, func(l *Ledger) error {
			if err := l.restore(ctx, dir, m); err != nil {
				return err
			}
			return l.Verify(ctx, nil)
		})
	})
	if err != nil {
		return nil, err
	}
	return &m.BackupInfo, nil
}

// opening opens a ledger for one call and closes it again.
func opening(path string, opts Options, fn func(l *Ledger) error) error {
	l, err := Open(path, opts)
	if err != nil {
		return err
	}
	return errors.Join(fn(l), l.Close())
}

// makeBeside lets fill make a ledger file in a private folder beside path, with
// its head and without a write-ahead log, and installs it there when fill was
// content with it.
func makeBeside(ctx context.Context, path string, opts Options, fill func(made string) error) (err error) {
	d := disk.Disk{Fault: opts.Fault}
	work, err := d.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".restore-*") // mode 0700
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the ledger's folder cannot be written to")
	}
	defer func() { err = errors.Join(err, d.RemoveAll(work)) }()
	made := filepath.Join(work, "ledger.duckdb")
	if err := fill(made); err != nil {
		return err
	}
	return duck.Hold(ctx, d, path, opts.Wait, func() error {
		if err := duck.Vacant(path); err != nil { // somebody was quicker
			return err
		}
		return duck.Install(d, made, path)
	})
}

type manifest struct {
	BackupInfo
	sums         map[string]string
	contentsFrom int64 // first event whose contents must be there
}

func refuseBackup(format string, args ...any) error {
	return fault.New(fault.Damaged, "the backup is not whole: %s", fmt.Sprintf(format, args...)).WithHint("use another backup")
}

func readManifest(dir string) (*manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, backupManifest)) //nolint:gosec // the operator's backup folder
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "there is no backup in that folder: it has no %s", backupManifest)
	}
	o, err := canon.ParseObject(data, canon.Limits{Depth: 4})
	if err != nil {
		return nil, refuseBackup("%s is no JSON object", backupManifest)
	}
	if o.Value("form") != backupForm {
		return nil, fault.New(fault.Invalid, "the backup has a form this program does not know; it knows %s", backupForm)
	}
	m := &manifest{sums: map[string]string{}}
	for key, to := range map[string]*int64{"events": &m.Events, "blobs": &m.Blobs} {
		n, ok := o.Value(key).(canon.Number)
		if !ok || !n.IsInt() {
			return nil, refuseBackup("%s has no number of %s", backupManifest, key)
		}
		if *to, err = strconv.ParseInt(string(n), 10, 64); err != nil {
			return nil, refuseBackup("%s has no number of %s", backupManifest, key)
		}
	}
	m.Link, _ = o.Value("link").(string)
	m.contentsFrom = 1
	if o.Has(metaContents) {
		var ok bool
		if m.contentsFrom, ok = lineInt(o, metaContents); !ok || m.contentsFrom < 1 {
			return nil, refuseBackup("%s does not say from which event on contents are there", backupManifest)
		}
	}
	for _, name := range []string{backupEvents, backupBlobs} {
		m.sums[name], _ = o.Value(name).(string)
		sum, err := hashOf(filepath.Join(dir, name))
		if err != nil {
			return nil, refuseBackup("%s cannot be read", name)
		}
		if sum != m.sums[name] {
			return nil, refuseBackup("%s is not what the manifest says", name)
		}
	}
	return m, nil
}

// hashOf is the BLAKE3 hash of a file.
func hashOf(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the operator's backup folder
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := blake3.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// restoreChunk is how many rows become durable at a time; the file is not in
// place before all are.
const restoreChunk = 20_000

func (l *Ledger) restore(ctx context.Context, dir string, m *manifest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store.Use(ctx, func(db *duck.DB) error {
		blobs := 0
		// Contents first: the lists of runs are read while their events are folded.
		err := eachLine(filepath.Join(dir, backupBlobs), restoreChunk, func(rows [][]driver.Value) error {
			blobs += len(rows)
			return l.store.Write(ctx, db, len(rows), func() error { return db.Insert(ctx, "blobs", rows) })
		}, blobLine)
		if err != nil {
			return err
		}
		s := newState()
		s.rows = newRowSet()
		lists := func(address string, seq int64) ([]string, error) { return l.idList(ctx, db, address, seq) }
		err = eachLine(filepath.Join(dir, backupEvents), restoreChunk, func(rows [][]driver.Value) error {
			for _, row := range rows {
				if err := s.foldRow(row, lists); err != nil {
					return err
				}
			}
			return l.store.Write(ctx, db, len(rows), func() error { return db.Insert(ctx, "events", rows) })
		}, eventLine)
		if err != nil {
			return err
		}
		if s.seq != m.Events || s.link != m.Link || int64(blobs) != m.Blobs {
			return refuseBackup("it does not end where the manifest says")
		}
		if m.contentsFrom > 1 {
			if err := l.noteContentsFrom(ctx, db, m.contentsFrom); err != nil {
				return err
			}
		}
		return l.finishRestore(ctx, db, s)
	})
}

// foldRow folds an event on its way into the table, address and link recomputed.
func (s *state) foldRow(row []driver.Value, lists func(string, int64) ([]string, error)) error {
	e, err := scanEvent(row)
	if err != nil {
		return err
	}
	if err := checkEvent(&e, s.seq, s.link); err != nil {
		return err
	}
	body, err := parseBody(&e, lists)
	if err != nil {
		return err
	}
	return s.apply(&e, body)
}

func (l *Ledger) finishRestore(ctx context.Context, db *duck.DB, s *state) error {
	s.flushPending()
	rows := s.rows
	err := l.store.Write(ctx, db, rows.n, func() error {
		return rows.insert(ctx, db, s)
	})
	if err != nil {
		return err
	}
	if s.seq > 0 {
		if err := l.store.Remember(logMain, s.seq, s.link); err != nil {
			return err
		}
	}
	_, err = l.store.Settle(ctx, db, true)
	return err
}

// eachLine reads rows of a file, at most chunk at a time.
func eachLine(path string, chunk int, take func(rows [][]driver.Value) error, parse func(o *canon.Object) ([]driver.Value, bool)) error {
	f, err := os.Open(path) //nolint:gosec // the operator's backup folder
	if err != nil {
		return refuseBackup("%s cannot be read", filepath.Base(path))
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	var rows [][]driver.Value
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil {
			return refuseBackup("%s ends within a line", filepath.Base(path))
		}
		o, err := canon.ParseObject(line, canon.Limits{Depth: 4})
		if err != nil {
			return refuseBackup("a line of %s is no JSON object", filepath.Base(path))
		}
		row, ok := parse(o)
		if !ok {
			return refuseBackup("a line of %s is no row", filepath.Base(path))
		}
		if rows = append(rows, row); len(rows) == chunk {
			if err := take(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return take(rows)
}

func blobLine(o *canon.Object) ([]driver.Value, bool) {
	seq, ok1 := lineInt(o, "seq")
	address, ok2 := o.Value("address").(string)
	text, ok3 := o.Value("bytes").(string)
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return []driver.Value{address, data, seq}, ok1 && ok2 && ok3 && err == nil
}

func lineInt(o *canon.Object, key string) (int64, bool) {
	n, ok := o.Value(key).(canon.Number)
	if !ok || !n.IsInt() {
		return 0, false
	}
	v, err := strconv.ParseInt(string(n), 10, 64)
	return v, err == nil
}

func eventLine(o *canon.Object) ([]driver.Value, bool) {
	row := make([]driver.Value, 11)
	ok := true
	for i, key := range []string{"log", "", "", "id", "kind", "subject", "", "body", "actor", "", "link"} {
		if key != "" {
			var is bool
			row[i], is = o.Value(key).(string)
			ok = ok && is
		}
	}
	seq, ok1 := lineInt(o, "seq")
	version, ok2 := lineInt(o, "v")
	at, err := parseTime(o.Value("recorded_at"))
	row[1], row[2], row[9] = seq, int32(version), at //nolint:gosec // checked with the address
	if s, is := o.Value("supersedes").(string); is {
		row[6] = s
	}
	return row, ok && ok1 && ok2 && err == nil
}
