package ledger

import (
	"context"

	"github.com/arche-ledger/arche/internal/disk"
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
	return l.Lend(ctx, func(path string) error { return duck.CopyDatabase(ctx, l.disk(), path, "", to, key) })
}

// Decrypt makes a ledger file of an encrypted copy and verifies it.
func Decrypt(ctx context.Context, from, key, to string, opts Options) error {
	if err := checkKey(key); err != nil {
		return err
	}
	path, err := parseURI(to)
	if err != nil {
		return err
	}
	if err := duck.Unwritten(path); err != nil {
		return err
	}
	return makeBeside(ctx, path, opts, func(made string) error {
		if err := duck.CopyDatabase(ctx, disk.Disk{Fault: opts.Fault}, from, key, made, ""); err != nil {
			return err
		}
		return opening(made, opts, func(l *Ledger) error {
			if err := l.Verify(ctx, nil); err != nil {
				return err
			}
			return l.rest(ctx)
		})
	})
}

// rest folds the write-ahead log into the file and says in the head where the
// log ends, so that the file may be moved.
func (l *Ledger) rest(ctx context.Context) error {
	return l.use(ctx, func(db *duck.DB, s *state) error {
		if s.seq > 0 {
			if err := l.store.Remember(logMain, s.seq, s.link); err != nil {
				return err
			}
		}
		_, err := l.store.Settle(ctx, db, true)
		return err
	})
}

func checkKey(key string) error {
	if len(key) < minKey {
		return fault.New(fault.Invalid, "the encryption key must have at least %d characters", minKey)
	}
	return nil
}
