package arctest

import (
	"context"
	"sync"
	"sync/atomic"
)

// Countdown is a context that ends when it is asked whether it has for the n-th
// time, as a caller's may end at any moment.
type Countdown struct {
	context.Context
	left atomic.Int64
	once sync.Once
	done chan struct{}
}

// NewCountdown makes one; the first n-1 questions are answered with no.
func NewCountdown(parent context.Context, n int) *Countdown {
	c := &Countdown{Context: parent, done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

// Err counts.
func (c *Countdown) Err() error {
	if c.left.Add(-1) > 0 {
		return c.Context.Err()
	}
	c.once.Do(func() { close(c.done) })
	return context.Canceled
}

// Done is closed when the context has ended.
func (c *Countdown) Done() <-chan struct{} { return c.done }

// Ended reports whether it came to that.
func (c *Countdown) Ended() bool { return c.left.Load() <= 0 }
