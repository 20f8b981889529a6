package fsck

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

func damagedAt(at int64) error {
	if at < 0 {
		return fault.Wrap(duck.ErrDamagedLog, fault.Damaged, "the ledger's write-ahead log is damaged")
	}
	return fault.Wrap(duck.ErrDamagedLog, fault.Damaged, "the ledger's write-ahead log is damaged at byte %d and cannot be replayed", at)
}

// TestLongestPrefix: whatever byte replay names, or none, the log is cut at the
// last place that opens, and in few tries.
func TestLongestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 1<<28).Draw(t, "size")
		last := rapid.Int64Range(0, size-1).Draw(t, "last place that opens")
		// Replay stops at the damage, behind it, or says nothing of use.
		stops := rapid.SampledFrom([]int64{last, last + 1, last + 16, last + 5000, size - 1, size, size + 7, -1}).Draw(t, "stops")
		tries := 0
		at, err := longest(size, damagedAt(stops), func(at int64) error {
			if tries++; at < 0 || at >= size {
				t.Fatalf("cut at %d of %d", at, size)
			}
			if at <= last {
				return nil
			}
			return damagedAt(stops)
		})
		if err != nil || at != last {
			t.Fatalf("cut at %d, %v; %d opens", at, err, last)
		}
		if tries > 60 {
			t.Fatalf("%d tries", tries)
		}
	})
}

// TestLongestPrefixEnds: an earlier byte that replay names is followed; an error
// of another kind, and a log of which nothing opens, end the search.
func TestLongestPrefixEnds(t *testing.T) {
	var tried []int64
	at, err := longest(1000, damagedAt(900), func(at int64) error {
		tried = append(tried, at)
		if at > 500 {
			return damagedAt(500)
		}
		return nil
	})
	if err != nil || at != 500 || fmt.Sprint(tried) != "[900 500]" {
		t.Errorf("%d, %v, %v", at, err, tried)
	}
	if at, err := longest(1000, damagedAt(-1), func(int64) error { return damagedAt(-1) }); !errors.Is(err, duck.ErrDamagedLog) {
		t.Errorf("nothing opens: %d, %v", at, err)
	}
	other := errors.New("Input/output error")
	for n := range 4 {
		tries := 0
		_, err := longest(1000, damagedAt(-1), func(at int64) error {
			switch tries++; {
			case tries > n:
				return other
			case at > 100:
				return damagedAt(-1)
			}
			return nil
		})
		if !errors.Is(err, other) {
			t.Errorf("after %d tries: %v", n, err)
		}
	}
	tries := 0
	_, err = longest(1000, damagedAt(-1), func(at int64) error { // in the way forward
		if tries++; at <= 900 {
			return nil
		}
		if tries > 9 {
			return other
		}
		return damagedAt(-1)
	})
	if !errors.Is(err, other) {
		t.Errorf("%d tries: %v", tries, err)
	}
}
