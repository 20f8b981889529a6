package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// CopyDatabase copies a whole database file into a new one. A key that is not
// empty opens, or encrypts, the file it belongs to. The copy is made in a folder
// beside its place and appears there whole; nothing is left of one that fails.
func CopyDatabase(ctx context.Context, d disk.Disk, from, fromKey, to, toKey string) (err error) {
	if err := Unwritten(to); err != nil {
		return err
	}
	work, err := d.MkdirTemp(filepath.Dir(to), filepath.Base(to)+".copy-*") // mode 0700
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the folder of the file to write cannot be written to")
	}
	defer func() { err = errors.Join(err, d.RemoveAll(work)) }()
	made := filepath.Join(work, "copy.duckdb")
	if err := copyWhole(ctx, d, from, fromKey, made, toKey); err != nil {
		return err
	}
	if err := d.Sync(made); err != nil {
		return err
	}
	return d.Replace(made, to)
}

// Unwritten refuses a name for a copy under which something lies already.
func Unwritten(to string) error {
	if there(to) || there(LogPath(to)) {
		return fault.New(fault.Refused, "the file to write exists already").WithHint("name a file that is not there yet")
	}
	return nil
}

func copyWhole(ctx context.Context, d disk.Disk, from, fromKey, to, toKey string) error {
	return withFiles(ctx, d, func(run func(sql string) error, _ *sql.Conn) error {
		if fromKey != "" || toKey != "" {
			// Writing encrypted needs OpenSSL, which DuckDB has in this extension. It is
			// loaded where it is installed, never fetched; without it the copy says so.
			_ = run("LOAD httpfs")
		}
		for _, sql := range []string{
			"ATTACH " + Quote(from) + " AS source (READ_ONLY" + keyOption(", ", fromKey) + ")",
			"ATTACH " + Quote(to) + " AS target" + attachKey(toKey),
			"COPY FROM DATABASE source TO target",
			"CHECKPOINT target",
			"DETACH target",
			"DETACH source",
		} {
			if err := run(sql); err != nil {
				return encryptionFault(err)
			}
		}
		return nil
	})
}

func keyOption(before, key string) string {
	if key == "" {
		return ""
	}
	return before + "ENCRYPTION_KEY " + Quote(key)
}

func attachKey(key string) string {
	if key == "" {
		return ""
	}
	return " (" + keyOption("", key) + ")"
}

// encryptionFault words DuckDB's refusals; the statement, which holds the key,
// never gets out.
func encryptionFault(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "read-only crypto module"):
		return fault.New(fault.Refused, "this DuckDB can't write encrypted files: its OpenSSL part, the httpfs extension, is not installed").
			WithHint("keep the ledger on an encrypted disk, or install the httpfs extension of DuckDB's version")
	case strings.Contains(text, "Wrong encryption key"), strings.Contains(text, "without a key"):
		return fault.New(fault.Refused, "the key does not open the encrypted file")
	case strings.Contains(text, "not encrypted"):
		return fault.New(fault.Invalid, "the file is not encrypted")
	}
	cut, _, _ := strings.Cut(text, "ENCRYPTION_KEY")
	return fmt.Errorf("copy the database: %w", translate(errors.New(cut)))
}
