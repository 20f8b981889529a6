package splink

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
)

// corpusHash addresses the values that a model is trained on.
type corpusHash struct {
	h   hash.Hash
	buf []byte
}

func newCorpusHash(columns []string) *corpusHash {
	c := &corpusHash{h: sha256.New()}
	for _, name := range columns {
		c.text(name)
	}
	return c
}

// list marks the start of a list.
func (c *corpusHash) list() { c.buf = append(c.buf, 1) }

// row adds the values of a row: presence, length and bytes of each.
func (c *corpusHash) row(values []any) {
	for _, v := range values[1:] {
		switch x := v.(type) {
		case string:
			c.text(x)
		case float64:
			c.buf = binary.LittleEndian.AppendUint64(append(c.buf, 2), math.Float64bits(x))
		default:
			c.buf = append(c.buf, 0)
		}
	}
	if len(c.buf) > 1<<14 {
		c.h.Write(c.buf)
		c.buf = c.buf[:0]
	}
}

func (c *corpusHash) text(s string) {
	c.buf = binary.AppendUvarint(append(c.buf, 3), uint64(len(s)))
	c.buf = append(c.buf, s...)
}

func (c *corpusHash) sum() string {
	c.h.Write(c.buf)
	c.buf = nil
	return hex.EncodeToString(c.h.Sum(nil))
}
