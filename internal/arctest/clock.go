package arctest

import (
	"sync"
	"time"
)

// Clock is a clock that moves only when it is asked: each call of Now is one
// second later than the last. It is safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock starts at 2026-12-01 08:30:00 UTC.
func NewClock() *Clock {
	return &Clock{at: time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)}
}

// Now is the time, which then moves on.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.at
	c.at = c.at.Add(time.Second)
	return t
}
