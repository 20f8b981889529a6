package fsck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Problem is something wrong and what to do about it.
type Problem struct {
	What string `json:"what"`
	Do   string `json:"do"`
}

// State is what Doctor found. Zero values are "not known".
type State struct {
	Exists     bool      `json:"exists"`
	FileBytes  int64     `json:"file_bytes"`
	LogBytes   int64     `json:"log_bytes"` // write-ahead log to be replayed at the next opening
	Mode       string    `json:"mode"`
	Storage    uint64    `json:"storage_version"`
	Engine     string    `json:"engine"` // version of the database linked in
	FreeBytes  uint64    `json:"free_bytes"`
	Holder     string    `json:"holder"` // who holds the file at this moment
	Events     int64     `json:"events"`
	Link       string    `json:"link"`
	LastEvent  time.Time `json:"last_event"`
	HeadSeq    int64     `json:"head_seq"`
	HeadFound  bool      `json:"head_found"`
	Unfinished []string  `json:"unfinished"` // names of files that an interrupted command left
	Problems   []Problem `json:"problems"`
}

func (s *State) problem(do, what string, args ...any) {
	s.Problems = append(s.Problems, Problem{What: fmt.Sprintf(what, args...), Do: do})
}

// lowSpace is the free space under which writing is at risk: a checkpoint may
// need as much as the file.
const lowSpace = 256 << 20

// Doctor tells the state of a ledger file. It opens the ledger as any call
// would, waiting no longer than opts.Wait.
func Doctor(ctx context.Context, path string, opts ledger.Options) (*State, error) {
	s := &State{Problems: []Problem{}, Unfinished: []string{}}
	var err error
	if s.Engine, err = duck.EngineVersion(ctx); err != nil {
		return nil, err
	}
	if free, err := duck.FreeSpace(filepath.Dir(path)); err == nil {
		s.FreeBytes = free
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		s.lookForHead(path)
		return s, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the ledger file cannot be looked at")
	}
	s.Exists, s.FileBytes, s.Mode = true, info.Size(), info.Mode().Perm().String()
	if wal, err := os.Stat(duck.LogPath(path)); err == nil {
		s.LogBytes = wal.Size()
	}
	if s.Storage, err = duck.StorageVersion(path); err != nil {
		s.problem("restore the file from a backup, or name another", "the file is no DuckDB database")
	}
	if h, held := duck.HeldBy(path); held {
		s.Holder = fmt.Sprintf("%s (process %d, since %s)", h.Program, h.PID, h.Since)
	}
	s.look(path, info)
	s.open(ctx, path, opts)
	return s, nil
}

// look finds what can be seen without opening the ledger.
func (s *State) look(path string, info os.FileInfo) {
	if info.Mode().Perm()&0o077 != 0 {
		s.problem("chmod 600 the file", "others on this machine can read the ledger (mode %s)", s.Mode)
	}
	if s.FreeBytes > 0 && s.FreeBytes < uint64(max(lowSpace, info.Size())) { //nolint:gosec // not negative
		s.problem("free disk space before writing more", "only %d MB are free, and a checkpoint may need as much as the file", s.FreeBytes>>20)
	}
	beside, _ := os.ReadDir(filepath.Dir(path)) // a folder that cannot be read shows nothing
	for _, e := range beside {
		if rest, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+"."); ok && strings.Contains(rest, "-") {
			s.Unfinished = append(s.Unfinished, e.Name())
		}
	}
	if len(s.Unfinished) > 0 {
		s.problem("look into each; quarantines hold originals, the others are safe to remove when nothing runs",
			"%d folders of repairs or restores lie beside the ledger", len(s.Unfinished))
	}
	s.lookForHead(path)
}

func (s *State) lookForHead(path string) {
	h, found, err := duck.ReadHead(duck.HeadPath(path))
	s.HeadFound, s.HeadSeq = found, h.Seq
	switch {
	case errors.Is(err, duck.ErrHeadDamaged):
		s.problem("run: arche ledger verify; then arche ledger repair --accept-loss writes a new head", "the head file is damaged")
	case found && h.Seq > 0 && !s.Exists:
		s.problem("put the ledger file back; if it was removed on purpose, remove its head file too", "the ledger file is gone and its head remembers %d events", h.Seq)
	case !found && s.Exists:
		s.problem("if the ledger was copied here, copy its .head file too; the next write makes a new one",
			"no head file: lost events at the end of the log would not be noticed")
	}
}

// open uses the ledger once and says what hinders it.
func (s *State) open(ctx context.Context, path string, opts ledger.Options) {
	l, err := ledger.Open(path, opts)
	if err == nil {
		_, s.Events, s.Link, err = l.Head(ctx)
		if err == nil {
			s.LastEvent, err = l.LastTime(ctx)
		}
		err = errors.Join(err, l.Close())
	}
	if err == nil {
		return
	}
	do := "run: arche ledger verify"
	what := err.Error()
	if f := fault.As(err); f != nil {
		what = f.Message
		if f.Hint != "" {
			do = f.Hint
		}
	}
	s.problem(do, "%s", what)
}
