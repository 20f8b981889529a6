package duck

// ParseSummed reads a head slot of a text, with the checksum that belongs to it.
func ParseSummed(text string) (Head, int64, bool) {
	return parseSlot([]byte(text + " " + slotSum(text)))
}
