package resolve

import "github.com/zeebo/blake3"

// SealPart puts the digest behind what may be a part.
func SealPart(body []byte) []byte {
	sum := blake3.Sum256(body)
	return append(body[:len(body):len(body)], sum[:]...)
}
