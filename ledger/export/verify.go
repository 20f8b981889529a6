package export

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// Report is what Verify found.
type Report struct {
	Manifest *Manifest // nil when it can't be read
	Signed   bool      // a signature is there and good
	Trusted  bool      // by the pinned key
	Signer   string    // did:key of the signature
	Problems []string

	lines map[string]int64 // line ends of each file
}

// OK reports whether every byte of the export is what the manifest says.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Answer is the report as JSON.
func (r *Report) Answer() *canon.Object {
	var what, format, head, signer any
	var count any
	if r.Manifest != nil {
		what, format, count, head = r.Manifest.What, r.Manifest.Format, r.Manifest.Count, r.Manifest.Head
	}
	if r.Signer != "" {
		signer = r.Signer
	}
	problems := []any{}
	for _, p := range r.Problems {
		problems = append(problems, p)
	}
	return canon.Obj("ok", r.OK(), "signed", r.Signed, "trusted", r.Trusted, "signer", signer, "what", what, "format", format,
		"count", count, "head", head, "problems", problems)
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

const maxManifest = 16 << 20

// Verify checks an export offline: the signature of the manifest (with the
// pinned key, when there is one), the digest of each file, the number of rows,
// and that nothing is there that the manifest does not name. An error means
// that the folder can't be read at all; what does not fit is in the report.
func Verify(ctx context.Context, dir string, pinned ed25519.PublicKey) (*Report, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "no folder %s", dir)
	}
	if err != nil {
		return nil, fileFault(dir, err)
	}
	r := &Report{lines: map[string]int64{}}
	text, err := readSmall(dir, ManifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Invalid, "%s has no %s, so it is no export", dir, ManifestName)
	}
	if err != nil {
		return nil, err
	}
	r.Manifest = r.parse(text)
	if r.Manifest == nil {
		return r, nil
	}
	beside := map[string][]byte{ManifestName: text}
	if err := r.signature(dir, text, beside, pinned); err != nil {
		return nil, err
	}
	if err := r.sums(dir, beside); err != nil {
		return nil, err
	}
	if err := r.files(ctx, dir); err != nil {
		return nil, err
	}
	r.strangers(entries)
	if !r.OK() {
		return r, nil
	}
	for _, f := range r.Manifest.Files { // the slow part, only where all bytes are right
		if err := r.count(ctx, dir, f.Name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readSmall reads a file that has a limit.
func readSmall(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err == nil && info.Size() > maxManifest {
		return nil, fault.New(fault.Limit, "%s is larger than %d bytes", name, maxManifest)
	}
	data, err := os.ReadFile(path)
	return data, fileFault(name, err)
}

// parse takes the one spelling that Encode gives: no unknown key, no other
// spacing, no key twice.
func (r *Report) parse(text []byte) *Manifest {
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		r.problem("the manifest is not JSON of its form")
		return nil
	}
	if !sameBytes(m.Encode(), text) {
		r.problem("the manifest is not as arche writes it")
		return nil
	}
	if m.Schema != Schema {
		r.problem("the manifest's schema is not %s", Schema)
		return nil
	}
	for _, f := range m.Files {
		if f.Name == "" || f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") {
			r.problem("the manifest names a file outside the folder")
			return nil
		}
	}
	return m
}

func (r *Report) signature(dir string, text []byte, beside map[string][]byte, pinned ed25519.PublicKey) error {
	token, err := readSmall(dir, SignatureName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if r.Manifest.Signer != nil {
			r.problem("the manifest names a signer and %s is missing", SignatureName)
		} else if pinned != nil {
			r.problem("the export is not signed")
		}
		return nil
	case err != nil:
		return err
	}
	beside[SignatureName] = token
	payload, signer, err := attest.OpenPayload(strings.TrimSuffix(string(token), "\n"), signatureType, pinned)
	if err != nil {
		r.problem("signature: %s", fault.As(err).Message)
		return nil
	}
	switch {
	case !sameBytes(payload, text):
		r.problem("the signature is over another manifest")
	case r.Manifest.Signer == nil || *r.Manifest.Signer != signer:
		r.problem("the manifest does not name the key that signed it")
	default:
		r.Signed, r.Signer, r.Trusted = true, signer, pinned != nil
	}
	return nil
}

func (r *Report) sums(dir string, beside map[string][]byte) error {
	got, err := readSmall(dir, SumsName)
	if errors.Is(err, fs.ErrNotExist) {
		r.problem("%s is missing", SumsName)
		return nil
	}
	if err != nil {
		return err
	}
	if !sameBytes(got, sums(r.Manifest.Files, beside)) {
		r.problem("%s does not say what the manifest says", SumsName)
	}
	return nil
}

func (r *Report) files(ctx context.Context, dir string) error {
	for _, want := range r.Manifest.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		got, lines, err := digestLines(dir, want.Name)
		r.lines[want.Name] = lines
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.problem("%s is missing", want.Name)
		case err != nil:
			return err
		case got != want:
			r.problem("%s is not what the manifest says", want.Name)
		default:
			if err := r.statement(dir, want.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// counters are the queries that count the rows of a table file. A row of JSON
// Lines is a line, counted as its digest was taken.
var counters = map[string]string{
	".csv":     `SELECT count(*) FROM read_csv(?, header = true, all_varchar = true, auto_detect = true, delim = ',', quote = '"', escape = '"')`,
	".parquet": `SELECT count(*) FROM read_parquet(?)`,
}

// rowsOf is how many rows the manifest promises of a file, 0 for none: the log
// beside decisions has one for each event.
func (m *Manifest) rowsOf(name string) int64 {
	switch name {
	case LogName("jsonl"), LogName("parquet"):
		return m.Head.Seq
	case ListsName("jsonl"), ListsName("parquet"):
		return 0 // as many as there are
	}
	return m.Count
}

func (r *Report) count(ctx context.Context, dir, name string) error {
	want := r.Manifest.rowsOf(name)
	ext := filepath.Ext(name)
	query, ok := counters[ext]
	if !ok && ext != ".jsonl" || want == 0 {
		return nil
	}
	n := r.lines[name]
	if ok {
		err := withSession(ctx, disk.Disk{}, func(s *session) error {
			return s.query(query, []any{filepath.Join(dir, name)}, func(v []any) { n, _ = v[0].(int64) })
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.problem("%s can't be read as a table", name)
			return nil
		}
	}
	if n != want {
		r.problem("%s has %d rows, the manifest says %d", name, n, want)
	}
	return nil
}

// strangers are files that nobody vouches for.
func (r *Report) strangers(entries []os.DirEntry) {
	known := []string{ManifestName, SumsName}
	if r.Signer != "" || r.Manifest.Signer != nil {
		known = append(known, SignatureName)
	}
	for _, f := range r.Manifest.Files {
		known = append(known, f.Name)
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			r.problem("%s is not in the manifest", e.Name())
		}
	}
}
