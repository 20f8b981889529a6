package duck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

// CopyDatabase copies a whole database file into a new one. A key that is not
// empty opens, or encrypts, the file it belongs to. Nothing is left of a copy
// that fails.
func CopyDatabase(ctx context.Context, from, fromKey, to, toKey string) (err error) {
	defer private()()
	if _, err := os.Stat(to); err == nil {
		return fault.New(fault.Refused, "the file to write exists already").WithHint("name a file that is not there yet")
	}
	db, err := OpenFiles()
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if fromKey != "" || toKey != "" {
		// Writing encrypted needs OpenSSL, which DuckDB has in this extension. It is
		// loaded where it is installed, never fetched; without it the copy says so.
		_, _ = conn.ExecContext(ctx, "LOAD httpfs")
	}
	defer func() {
		if err != nil {
			err = errors.Join(encryptionFault(err), os.RemoveAll(to), os.RemoveAll(to+".wal"))
		}
	}()
	for _, sql := range []string{
		"ATTACH " + Quote(from) + " AS source (READ_ONLY" + keyOption(", ", fromKey) + ")",
		"ATTACH " + Quote(to) + " AS target" + attachKey(toKey),
		"COPY FROM DATABASE source TO target",
		"CHECKPOINT target",
		"DETACH target",
		"DETACH source",
	} {
		if _, err := conn.ExecContext(ctx, sql); err != nil {
			return err
		}
	}
	return syncPath(to)
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
	return fmt.Errorf("copy the database: %w", errors.New(strings.SplitN(text, "ENCRYPTION_KEY", 2)[0]))
}
