package duck

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/disk"
)

// Head is where a log ended when it was last acknowledged, and how much
// write-ahead log has gathered since the last checkpoint.
type Head struct {
	Log  string // name of the log
	Seq  int64  // its last event
	Link string // that event's link, 64 hex digits
	Debt int64  // commits to be replayed at the next opening
}

// HeadFile is the file FILE.head: two slots written in turn, each with a
// counter and a checksum, so that a torn write leaves the older head. One
// write and one sync a head; a rename would cost two syncs.
type HeadFile struct {
	f     *os.File
	count int64
	fault func(op string) error
}

// ErrHeadDamaged means that neither slot of a head file can be read.
var ErrHeadDamaged = errors.New("head file is damaged")

const (
	slotSize  = 256
	headMagic = "arche.head.v1"
)

// HeadPath is the head file of a ledger file.
func HeadPath(ledger string) string { return ledger + ".head" }

// ReadHead reads the newest whole slot; found is false when there is no file.
func ReadHead(path string) (h Head, found bool, err error) {
	h, _, found, err = readHead(path)
	return h, found, err
}

func readHead(path string) (best Head, count int64, found bool, err error) {
	f, err := os.Open(path) //nolint:gosec // the operator's ledger path with a fixed suffix
	if errors.Is(err, os.ErrNotExist) {
		return Head{}, 0, false, nil
	}
	if err != nil {
		return Head{}, 0, false, fmt.Errorf("open head: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 2*slotSize))
	if err != nil {
		return Head{}, 0, false, fmt.Errorf("read head: %w", err)
	}
	for i := 0; i+slotSize <= len(data); i += slotSize {
		if h, n, ok := parseSlot(data[i : i+slotSize]); ok && n > count {
			best, count = h, n
		}
	}
	if count == 0 {
		return Head{}, 0, true, ErrHeadDamaged
	}
	return best, count, true, nil
}

func slotSum(text string) string {
	sum := blake3.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func formatSlot(h Head, count int64) []byte {
	text := fmt.Sprintf("%s %d %s %d %s %d", headMagic, count, h.Log, h.Seq, h.Link, h.Debt)
	line := text + " " + slotSum(text)
	buf := []byte(line + strings.Repeat(" ", slotSize-len(line)-1) + "\n")
	return buf
}

func parseSlot(slot []byte) (h Head, count int64, ok bool) {
	f := strings.Split(strings.TrimRight(string(slot), " \n"), " ")
	if len(f) != 7 || f[0] != headMagic || slotSum(strings.Join(f[:6], " ")) != f[6] {
		return Head{}, 0, false
	}
	count, err1 := strconv.ParseInt(f[1], 10, 64)
	seq, err2 := strconv.ParseInt(f[3], 10, 64)
	debt, err3 := strconv.ParseInt(f[5], 10, 64)
	if errors.Join(err1, err2, err3) != nil || count < 1 || len(f[4]) != 64 {
		return Head{}, 0, false
	}
	return Head{Log: f[2], Seq: seq, Link: f[4], Debt: debt}, count, true
}

// OpenHead opens the head file for writing, making it when absent. The old
// head is returned; found is false for a new file. A damaged file is an error
// and stays as it is.
func OpenHead(path string, fault func(op string) error) (hf *HeadFile, h Head, found bool, err error) {
	h, count, found, err := readHead(path)
	if err != nil {
		return nil, h, found, err
	}
	if !found {
		if err := createHead(disk.Disk{Fault: fault}, path); err != nil {
			return nil, h, false, err
		}
		count = 1
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o600) //nolint:gosec // as above
	if err != nil {
		return nil, h, found, fmt.Errorf("open head: %w", err)
	}
	return &HeadFile{f: f, count: count, fault: fault}, h, found, nil
}

// createHead makes a head file whose slots hold the empty log, so that a file
// that exists always has a whole slot.
func createHead(d disk.Disk, path string) error {
	return placeHead(d, path, Head{Log: "main", Link: strings.Repeat("0", 64)})
}

// placeHead puts a head file that says h in place of any other, in one step.
func placeHead(d disk.Disk, path string, h Head) error {
	// Heads are made behind the gate: one name is enough, and nothing gathers.
	tmp, err := d.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create head: %w", err)
	}
	_, err = tmp.Write(append(make([]byte, slotSize), formatSlot(h, 1)...))
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = d.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("create head: %w", errors.Join(err, d.Remove(tmp.Name())))
	}
	return d.Sync(filepath.Dir(path))
}

// Write remembers a head durably.
func (hf *HeadFile) Write(h Head) error {
	if hf.fault != nil {
		if err := hf.fault("head.write"); err != nil {
			return fmt.Errorf("write head: %w", err)
		}
	}
	n := hf.count + 1
	if _, err := hf.f.WriteAt(formatSlot(h, n), (n%2)*slotSize); err != nil {
		return fmt.Errorf("write head: %w", err)
	}
	if hf.fault != nil {
		if err := hf.fault("head.sync"); err != nil {
			return fmt.Errorf("sync head: %w", err)
		}
	}
	if err := datasync(hf.f); err != nil {
		return fmt.Errorf("sync head: %w", err)
	}
	hf.count = n
	return nil
}

// Close closes the file.
func (hf *HeadFile) Close() error { return hf.f.Close() }
