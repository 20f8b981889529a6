package duck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

// What can be wrong with a database file.
var (
	// ErrLocked means that another process holds the file.
	ErrLocked = errors.New("file is held by another process")
	// ErrForeign means that the file is no DuckDB database.
	ErrForeign = errors.New("file is not a DuckDB database")
	// ErrNewerFormat means that a newer DuckDB wrote the file.
	ErrNewerFormat = errors.New("file has a newer storage format")
	// ErrDamaged means that stored bytes do not match their checksums.
	ErrDamaged = errors.New("file is damaged")
	// ErrDamagedLog means that the write-ahead log cannot be replayed.
	ErrDamagedLog = errors.New("write-ahead log is damaged")
	// ErrFatal means that the database gave up; the opening must be closed.
	ErrFatal = errors.New("database was invalidated")
	// ErrDiskFull means that there was no space left.
	ErrDiskFull = errors.New("no space left")
)

var errPathCharacters = fault.New(fault.Invalid, "a ledger path must not contain '?', '%%' or '#'")

var (
	holderText = regexp.MustCompile(`Conflicting lock is held in (.*?) \(PID (\d+)\)`)
	logByte    = regexp.MustCompile(`entry at byte position (\d+)`)
)

// signs maps what DuckDB's messages say to our sentinels, first hit first.
var signs = []struct {
	text     string
	sentinel error
}{
	{"Could not set lock on file", ErrLocked},
	{"Failure while replaying WAL", ErrDamagedLog},
	{"FATAL Error", ErrFatal},
	{"database has been invalidated", ErrFatal},
	{"is not a valid DuckDB database file", ErrForeign},
	{"Cannot open encrypted database", ErrForeign},
	{"but we can only read versions between", ErrNewerFormat},
	{"Corrupt database file", ErrDamaged},
	{"Could not read enough bytes from file", ErrDamaged},
	{"Could not read all bytes from file", ErrDamaged},
	{"No space left on device", ErrDiskFull},
}

// translate is the one place where texts of the database are matched. Paths
// that its messages carry stay in the cause and never in the fault.
func translate(err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	text := err.Error()
	for _, s := range signs {
		if strings.Contains(text, s.text) {
			return faultOf(s.sentinel, text, fmt.Errorf("%w: %w", s.sentinel, err))
		}
	}
	if strings.Contains(text, "INTERRUPT") {
		return fmt.Errorf("%w: %w", context.Canceled, err)
	}
	return fmt.Errorf("database: %w", err)
}

func faultOf(sentinel error, text string, cause error) *fault.Error {
	switch {
	case errors.Is(sentinel, ErrLocked):
		if m := holderText.FindStringSubmatch(text); m != nil {
			return fault.Wrap(cause, fault.Busy, "the ledger file is held by another program: %s (process %s)", filepath.Base(m[1]), m[2]).
				WithHint("close that program, or let it open the file read only after this one has let go")
		}
		return fault.Wrap(cause, fault.Busy, "the ledger file is held by another program")
	case errors.Is(sentinel, ErrDamagedLog):
		where := ""
		if m := logByte.FindStringSubmatch(text); m != nil {
			where = " at byte " + m[1]
		}
		return fault.Wrap(cause, fault.Damaged, "the ledger's write-ahead log is damaged%s and cannot be replayed", where).
			WithHint("run: arche ledger repair (it works on a copy)")
	case errors.Is(sentinel, ErrFatal):
		if strings.Contains(text, "No space left") {
			return fault.Wrap(errors.Join(cause, ErrDiskFull), fault.Damaged, "the disk is full: the database stopped; what was acknowledged is safe").
				WithHint("free disk space, then call again")
		}
		return fault.Wrap(cause, fault.Damaged, "the database met a fatal error and was closed; what was acknowledged is safe").
			WithHint("call again; if it repeats, run: arche ledger verify")
	case strings.Contains(text, "Cannot open encrypted database"):
		return fault.Wrap(cause, fault.Invalid, "the ledger file is an encrypted copy").
			WithHint("make a ledger of it with: arche ledger decrypt FILE --key-file KEY --ledger NEW.duckdb")
	case errors.Is(sentinel, ErrForeign):
		return fault.Wrap(cause, fault.Invalid, "the ledger file is not a DuckDB database").
			WithHint("name another file, or restore this one from a backup")
	case errors.Is(sentinel, ErrNewerFormat):
		return fault.Wrap(cause, fault.Invalid, "the ledger file was written by a newer DuckDB than this program reads").
			WithHint("use a newer arche, or exchange ledgers by export and import")
	case errors.Is(sentinel, ErrDamaged):
		return fault.Wrap(cause, fault.Damaged, "the ledger file is damaged: a stored block does not match its checksum or is missing").
			WithHint("run: arche ledger verify; restore from a backup what it names")
	}
	return fault.Wrap(cause, fault.Damaged, "the disk is full; nothing was recorded").
		WithHint("free disk space, then call again")
}
