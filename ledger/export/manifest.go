package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
)

// Schema names the form of a manifest.
const Schema = "arche.export.v1"

// Names of the files beside the exported ones.
const (
	ManifestName  = "manifest.json"
	SignatureName = "manifest.jws"
	SumsName      = "SHA256SUMS"
)

// signatureType is the typ of the token in SignatureName.
const signatureType = "arche-export+jws"

// Manifest says what an export holds and where it was cut from the log.
type Manifest struct {
	Schema     string  `json:"schema"`
	What       string  `json:"what"`
	Format     string  `json:"format"`
	CreatedAt  string  `json:"created_at"` // UTC, to the second
	Program    string  `json:"program"`
	Head       Head    `json:"head"`
	Checkpoint *string `json:"checkpoint"` // newest signed checkpoint of the log, as its note text
	// ContentsFrom is the first event whose contents must all be in an export of
	// events with them; 0 when that is the first of all. A log that came in without
	// contents has them of what was appended since.
	ContentsFrom int64    `json:"contents_from_event,omitempty"`
	Filter       Filter   `json:"filter"`
	Count        int64    `json:"count"` // rows, or things told of
	Columns      []Column `json:"columns"`
	Files        []File   `json:"files"`
	Signer       *string  `json:"signer"` // did:key of the signature beside it
}

// Head is the end of the log that an export was made from.
type Head struct {
	Log  string `json:"log"`
	Seq  int64  `json:"seq"`
	Link string `json:"link"`
}

// Filter is what an export was narrowed by; null is not narrowed.
type Filter struct {
	Since  *string `json:"since"`
	Until  *string `json:"until"`
	Entity *string `json:"entity"`
	Reveal bool    `json:"reveal"`
}

// File is one exported file.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Encode returns the one spelling of a manifest that Verify accepts.
func (m *Manifest) Encode() []byte {
	text, _ := canon.Indent(m) // of numbers and texts
	return append(text, '\n')
}

// Seal digests the files of an export that lie in dir, and writes the manifest,
// its signature when there is a key, and the sums that sha256sum reads.
func Seal(dir string, m Manifest, names []string, key *attest.Key) (*Manifest, error) {
	return seal(disk.Disk{}, dir, m, names, key)
}

func seal(d disk.Disk, dir string, m Manifest, names []string, key *attest.Key) (*Manifest, error) {
	m.Schema = Schema
	var err error
	if m.Files, err = digests(dir, slices.Sorted(slices.Values(names))); err != nil {
		return nil, err
	}
	m.Signer = nil
	if key != nil {
		did := key.DID()
		m.Signer = &did
	}
	text := m.Encode()
	beside := map[string][]byte{ManifestName: text}
	if key != nil {
		beside[SignatureName] = []byte(key.SignPayload(signatureType, text) + "\n")
	}
	beside[SumsName] = sums(m.Files, beside)
	for _, name := range []string{ManifestName, SignatureName, SumsName} {
		if beside[name] == nil {
			continue
		}
		if err := writeBytes(d, filepath.Join(dir, name), beside[name]); err != nil {
			return nil, err
		}
	}
	return &m, nil
}

// sums is SHA256SUMS: the exported files, the manifest and its signature.
func sums(files []File, beside map[string][]byte) []byte {
	lines := make([]string, 0, len(files)+2)
	for _, f := range files {
		lines = append(lines, f.SHA256+"  "+f.Name+"\n")
	}
	for name, data := range beside {
		sum := sha256.Sum256(data)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return []byte(strings.Join(lines, ""))
}

// digests are those of the files of an export, in the order of names.
func digests(dir string, names []string) ([]File, error) {
	out := make([]File, len(names))
	for i, name := range names {
		var err error
		if out[i], _, err = digestLines(dir, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// digestLines is the digest of a file and the number of its line ends.
func digestLines(dir, name string) (File, int64, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return File{}, 0, fileFault(name, err)
	}
	defer f.Close()
	h, lines := sha256.New(), lineCounter(0)
	n, err := io.CopyBuffer(io.MultiWriter(h, &lines), f, make([]byte, 1<<17))
	if err != nil {
		return File{}, 0, fileFault(name, err)
	}
	return File{Name: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, int64(lines), nil
}

// lineCounter counts the line ends written to it.
type lineCounter int64

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

// sameBytes compares without telling where the difference is.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) }
