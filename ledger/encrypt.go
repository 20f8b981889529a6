package ledger

import (
	"context"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// minKey is the least number of characters of an encryption key.
const minKey = 16

// Encrypt writes an encrypted copy of the ledger, for keeping elsewhere. It is
// refused where this DuckDB can't write encrypted files.
func (l *Ledger) Encrypt(ctx context.Context, to, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return l.Lend(ctx, func(path string) error { return duck.CopyDatabase(ctx, path, "", to, key) })
}

// Decrypt makes a ledger file of an encrypted copy and verifies it.
func Decrypt(ctx context.Context, from, key, to string, opts Options) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := duck.CopyDatabase(ctx, from, key, to, ""); err != nil {
		return err
	}
	l, err := Open(to, opts)
	if err != nil {
		return err
	}
	err = l.Verify(ctx, nil)
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	return err
}

func checkKey(key string) error {
	if len(key) < minKey {
		return fault.New(fault.Invalid, "the encryption key must have at least %d characters", minKey)
	}
	return nil
}
