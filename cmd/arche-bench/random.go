package main

import (
	"crypto/sha512"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// twister draws the numbers that Python's random module draws, so that the
// lists are the same files as those of the reference's own generator.
type twister struct {
	state [624]uint32
	at    int
}

// seedText seeds by a text: its bytes followed by their SHA-512, as one number.
func seedText(s string) *twister {
	sum := sha512.Sum512([]byte(s))
	return seedNumber(new(big.Int).SetBytes(append([]byte(s), sum[:]...)))
}

// seedInt seeds by a small number.
func seedInt(n int64) *twister { return seedNumber(big.NewInt(n)) }

func seedNumber(n *big.Int) *twister {
	var key []uint32
	mask := big.NewInt(1<<32 - 1)
	for rest := new(big.Int).Set(n); rest.Sign() > 0; rest.Rsh(rest, 32) {
		key = append(key, uint32(new(big.Int).And(rest, mask).Uint64()))
	}
	if len(key) == 0 {
		key = []uint32{0}
	}
	t := &twister{}
	t.initKey(key)
	return t
}

func (t *twister) init(seed uint32) {
	t.state[0] = seed
	for i := 1; i < len(t.state); i++ {
		t.state[i] = 1812433253*(t.state[i-1]^t.state[i-1]>>30) + uint32(i)
	}
	t.at = len(t.state)
}

func (t *twister) initKey(key []uint32) {
	t.init(19650218)
	n := len(t.state)
	i, j := 1, 0
	for range max(n, len(key)) {
		t.state[i] = (t.state[i] ^ (t.state[i-1]^t.state[i-1]>>30)*1664525) + key[j] + uint32(j)
		i++
		j++
		if i == n {
			t.state[0] = t.state[n-1]
			i = 1
		}
		if j == len(key) {
			j = 0
		}
	}
	for range n - 1 {
		t.state[i] = (t.state[i] ^ (t.state[i-1]^t.state[i-1]>>30)*1566083941) - uint32(i)
		i++
		if i == n {
			t.state[0] = t.state[n-1]
			i = 1
		}
	}
	t.state[0] = 0x80000000
}

func (t *twister) next() uint32 {
	if t.at == len(t.state) {
		t.refill()
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (t *twister) refill() {
	const m = 397
	n := len(t.state)
	for k := range n {
		y := t.state[k]&0x80000000 | t.state[(k+1)%n]&0x7fffffff
		t.state[k] = t.state[(k+m)%n] ^ y>>1
		if y&1 != 0 {
			t.state[k] ^= 0x9908b0df
		}
	}
	t.at = 0
}

// random is a number in [0, 1) with 53 bits.
func (t *twister) random() float64 {
	a, b := t.next()>>5, t.next()>>6
	return (float64(a)*67108864 + float64(b)) / 9007199254740992
}

// below is a whole number in [0, n), n less than 2^32.
func (t *twister) below(n int) int {
	k := bits.Len(uint(n))
	for {
		if r := int(t.next() >> (32 - k)); r < n {
			return r
		}
	}
}

// between is a whole number in [lo, hi].
func (t *twister) between(lo, hi int) int { return lo + t.below(hi-lo+1) }

func (t *twister) uniform(lo, hi float64) float64 { return lo + float64((hi-lo)*t.random()) }

func choice[T any](t *twister, from []T) T { return from[t.below(len(from))] }

// wordOf is a word of n syllables.
func (t *twister) wordOf(syllables []string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(choice(t, syllables))
	}
	return b.String()
}

// letter is one byte of s as text.
func (t *twister) letter(s string) string {
	i := t.below(len(s))
	return s[i : i+1]
}

// weighted is an index in proportion to whole-number weights.
func (t *twister) weighted(weights []int) int {
	total := 0
	cum := make([]float64, len(weights))
	for i, w := range weights {
		total += w
		cum[i] = float64(total)
	}
	x := t.random() * float64(total)
	i, _ := slices.BinarySearchFunc(cum[:len(cum)-1], x, func(c, x float64) int {
		if c <= x {
			return -1
		}
		return 1
	})
	return i
}

func shuffle[T any](t *twister, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := t.below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
