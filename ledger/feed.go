package ledger

import (
	"context"
	"database/sql/driver"

	"github.com/arche-ledger/arche/ledger/duck"
)

// feed gives the database rows in a goroutine of its own while the next are
// made. The database is the feed's alone between two calls of settle.
type feed struct {
	jobs     chan feedJob
	failed   chan struct{} // closed when err is set
	ended    chan struct{}
	err      error
	panicked any
}

// feedJob are rows of a table; a job without a table is waited for.
type feedJob struct {
	table string
	rows  func() [][]driver.Value
	done  chan struct{}
}

func newFeed(ctx context.Context, db *duck.DB) *feed {
	f := &feed{jobs: make(chan feedJob, 2), failed: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		defer func() {
			if f.panicked = recover(); f.panicked != nil && f.err == nil {
				f.err = errStopped
				close(f.failed)
			}
		}()
		for j := range f.jobs {
			if j.done != nil {
				close(j.done)
				continue
			}
			if f.err != nil {
				continue
			}
			if f.err = db.Insert(ctx, j.table, j.rows()); f.err != nil {
				close(f.failed)
			}
		}
	}()
	return f
}

// give hands rows over; they are made in the feed's goroutine.
func (f *feed) give(table string, rows func() [][]driver.Value) error {
	select {
	case f.jobs <- feedJob{table: table, rows: rows}:
		return nil
	case <-f.failed:
		return f.err
	}
}

// settle waits until the database has all rows that were given.
func (f *feed) settle() error {
	done := make(chan struct{})
	select {
	case f.jobs <- feedJob{done: done}:
	case <-f.failed:
		return f.err
	}
	select {
	case <-done:
		return nil
	case <-f.failed:
		return f.err
	}
}

// end waits for the last rows. Nothing is given afterwards.
func (f *feed) end() error {
	close(f.jobs)
	<-f.ended
	if f.panicked != nil {
		panic(f.panicked) // as if the rows had been inserted here
	}
	return f.err
}
