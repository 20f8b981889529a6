package ledger

import (
	"errors"
	"runtime"
	"sync"
)

// errStopped ends a producer whose pieces nobody takes any more.
var errStopped = errors.New("stopped")

// ahead runs produce in a goroutine of its own, a piece ahead of take: the
// database reads the next rows while the last are worked on. While it runs the
// database is produce's alone. When it returns, produce has ended.
func ahead[T any](produce func(put func(T) error) error, take func(T) error) error {
	pieces, stop := make(chan T, 1), make(chan struct{})
	var failed error
	var panicked any
	go func() {
		defer close(pieces)
		defer func() { panicked = recover() }()
		failed = produce(func(p T) error {
			select {
			case pieces <- p:
				return nil
			case <-stop:
				return errStopped
			}
		})
	}()
	err := func() error {
		defer func() { // also when take panics
			close(stop)
			for range pieces { //nolint:revive // until the producer has ended
			}
		}()
		for p := range pieces {
			if err := take(p); err != nil {
				return err
			}
		}
		return nil
	}()
	if panicked != nil {
		panic(panicked) // as if produce had been called here: the caller shields itself
	}
	if err != nil {
		return err
	}
	return failed // not by errStopped: nobody stopped it
}

// spread runs fn over the parts of n things on all cores and returns the error
// of the first part that failed.
func spread(n int, fn func(from, to int) error) error {
	workers := max(1, min(runtime.GOMAXPROCS(0), 8, n))
	errs, panics := make([]error, workers), make([]any, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			defer func() { panics[w] = recover() }()
			errs[w] = fn(n*w/workers, n*(w+1)/workers)
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
