package ledger

// marks is a set of places in a slice.
type marks []uint64

func (m marks) has(i int32) bool {
	return int(i>>6) < len(m) && m[i>>6]&(1<<(i&63)) != 0
}

func (m *marks) set(i int32) {
	for int(i>>6) >= len(*m) {
		*m = append(*m, 0)
	}
	(*m)[i>>6] |= 1 << (i & 63)
}
