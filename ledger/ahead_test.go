package ledger

import (
	"errors"
	"slices"
	"testing"
)

func TestAheadKeepsTheOrderAndEnds(t *testing.T) {
	broken := errors.New("broken")
	numbers := func(n int, end error) (func(put func(int) error) error, *bool) {
		ended := false
		return func(put func(int) error) error {
			defer func() { ended = true }()
			for i := range n {
				if err := put(i); err != nil {
					return err
				}
			}
			return end
		}, &ended
	}
	for _, c := range []struct {
		name       string
		end        error // of the producer
		stop, want int   // take fails at stop
		err        error
	}{
		{"all", nil, -1, 100, nil},
		{"the producer fails", broken, -1, 100, broken},
		{"take fails", nil, 7, 7, broken},
	} {
		var got []int
		produce, ended := numbers(100, c.end)
		err := ahead(produce, func(i int) error {
			if i == c.stop {
				return broken
			}
			got = append(got, i)
			return nil
		})
		if !errors.Is(err, c.err) || len(got) != c.want || !slices.IsSorted(got) || !*ended {
			t.Errorf("%s: error %v after %d, ended %v", c.name, err, len(got), *ended)
		}
	}
}

// A panic anywhere reaches the caller, who shields itself, and nothing goes on.
func TestPanicsReachTheCaller(t *testing.T) {
	for name, call := range map[string]func(){
		"a producer": func() { _ = ahead(func(func(int) error) error { panic("x") }, func(int) error { return nil }) },
		"a taker": func() {
			_ = ahead(func(put func(int) error) error {
				for {
					if err := put(1); err != nil {
						return err
					}
				}
			}, func(int) error { panic("x") })
		},
		"a part": func() { _ = spread(100, func(int, int) error { panic("x") }) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() != "x" {
					t.Error("the panic did not come through")
				}
			}()
			call()
		})
	}
}

func TestSpreadTakesEveryPart(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 1000} {
		seen := make([]int, n)
		err := spread(n, func(from, to int) error {
			for ; from < to; from++ {
				seen[from]++
			}
			return nil
		})
		if err != nil || slices.ContainsFunc(seen, func(k int) bool { return k != 1 }) {
			t.Errorf("%d: %v %v", n, err, seen)
		}
	}
}
