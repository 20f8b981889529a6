package proof

import "golang.org/x/mod/sumdb/note"

// NoteSigner signs notes of any text as a checkpoint's signer does.
func NoteSigner(name string, key Signer) note.Signer { return noteSigner{name, key} }
