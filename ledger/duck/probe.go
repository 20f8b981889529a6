package duck

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// EngineVersion is the version of the database linked in.
func EngineVersion(ctx context.Context) (string, error) {
	db, err := openDB("", Options{Threads: 1, MemoryMB: 32})
	if err != nil {
		return "", err
	}
	var v string
	err = db.Query(ctx, "SELECT library_version FROM pragma_version()", nil, func(row []driver.Value) error {
		v, _ = row[0].(string)
		return nil
	})
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	return v, err
}

// StorageVersion is the storage format of a database file, read from its header
// without opening it as a database.
func StorageVersion(path string) (uint64, error) {
	f, err := os.Open(path) //nolint:gosec // the operator's ledger path
	if err != nil {
		return 0, fmt.Errorf("read header: %w", err)
	}
	defer f.Close()
	// The header is a checksum of 8 bytes, the letters DUCK, the version.
	var head [20]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[8:12]) != "DUCK" {
		return 0, ErrForeign
	}
	return binary.LittleEndian.Uint64(head[12:]), nil
}
