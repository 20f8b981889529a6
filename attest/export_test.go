package attest

import "github.com/arche-ledger/arche/internal/disk"

// WriteKeyWith is WriteKey on a disk whose changes may fail.
func WriteKeyWith(fault func(op string) error, path string, key *Key, force bool) error {
	return writeKey(disk.Disk{Fault: fault}, path, key, force)
}

// LenientBase64 is how segments of a token are read.
var LenientBase64 = lenientBase64
