package documents

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// projectFile names this checkout in a shared ledger.
const projectFile = "project.json"

// projectScope is what stands before this project's paths in a shared ledger:
// a random id, made once for a checkout and kept beside it. A moved checkout
// keeps its id (the folder is the same), a restored one too (the place is the
// same); a copy gets its own, for two folders that shared one would undo each
// other's history.
func (s *store) projectScope(root string) (string, error) {
	here := placeOf(root)
	folder := ""
	if f, err := openFolder(filepath.Join(root, baseDir), s.ask); err == nil {
		if st, err := f.stamp(); err == nil && st.ino != 0 {
			folder = strconv.FormatUint(st.ino, 10)
		}
		f.close()
	}
	name := stateDir + "/" + projectFile
	data, err := s.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", ioFault(err, "reading", basePrefix+name)
	}
	id := ""
	if o, err := canon.ParseObject(data, canon.Limits{Depth: 4}); err == nil {
		was, _ := o.Value("id").(string)
		place, _ := o.Value("place").(string)
		inode, _ := o.Value("folder").(string)
		samePlace, sameFolder := place == here, inode == folder && folder != ""
		if samePlace && sameFolder && was != "" {
			return was + "/", nil
		}
		if samePlace || sameFolder {
			id = was
		}
	}
	if id == "" {
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails
		id = "p-" + hex.EncodeToString(random[:])
	}
	o := encoded(canon.Obj("id", id, "place", here, "folder", folder))
	if err := s.writeFile(name, append(o, '\n'), 0o600, nil); err != nil {
		return "", ioFault(err, "writing", basePrefix+name)
	}
	return id + "/", nil
}

// placeOf stands for a folder's place without telling it.
func placeOf(root string) string {
	sum := blake3.Sum256([]byte(root))
	return hex.EncodeToString(sum[:16])
}
