package duck

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/arche-ledger/arche/internal/disk"
)

// headerBytes is what every database file begins with: a file that is shorter
// was never a database.
const headerBytes = 3 * 4096

// interrupted reports whether we began to make a ledger file and nothing was
// ever acknowledged in it: there is a lock file and no head.
func interrupted(path string) bool {
	_, lock := os.Stat(path + ".lock")
	_, head := os.Stat(HeadPath(path))
	return lock == nil && errors.Is(head, os.ErrNotExist)
}

// clearUnfinished removes what is left of a database file whose making was
// interrupted (a kill, a full disk): shorter than a header, begun as one or
// empty, made behind our gate, and without a head, so that nothing was ever
// acknowledged in it. Any other file stays. Call it behind the gate.
func clearUnfinished(d disk.Disk, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() >= headerBytes {
		return nil
	}
	if !interrupted(path) {
		return nil
	}
	if begun, err := beginsAsDatabase(path); err != nil || !begun {
		return err
	}
	if err := d.Remove(path); err != nil {
		return fmt.Errorf("remove an unfinished ledger file: %w", err)
	}
	return nil
}

// beginsAsDatabase reports whether a short file could have become a database:
// its first bytes are a checksum of 8 bytes and the letters DUCK, as far as they
// were written.
func beginsAsDatabase(path string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // the operator's ledger path
	if err != nil {
		return false, fmt.Errorf("look at the ledger file: %w", err)
	}
	defer f.Close()
	var head [12]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("look at the ledger file: %w", err)
	}
	return n == 0 || n == len(head) && string(head[8:]) == "DUCK", nil
}
