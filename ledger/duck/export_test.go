package duck

import "time"

// ParseSummed reads a head slot of a text, with the checksum that belongs to it.
func ParseSummed(text string) (Head, int64, bool) {
	return parseSlot([]byte(text + " " + slotSum(text)))
}

// Turn is how long the store may work on while others wait, and Entry what
// taking the file cost it last time.
func (s *Store) Turn() time.Duration  { return s.turn() }
func (s *Store) Entry() time.Duration { return s.entry }

// SetEntry says what taking the file cost.
func (s *Store) SetEntry(d time.Duration) { s.entry = d }
