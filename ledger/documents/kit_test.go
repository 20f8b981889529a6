package documents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// project makes a project folder with the files given, names below .archcore/.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t testing.TB, root, rel, text string) {
	t.Helper()
	full := filepath.Join(root, ".archcore", rel)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func slurp(t testing.TB, root, rel string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, ".archcore", rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// opened is next, and the ledger has been used: nothing of its opening is left to
// be done.
func (l *logs) opened() *ledger.Ledger {
	l.t.Helper()
	log := l.next()
	for _, err := range log.Events(l.t.Context(), ledger.Filter{}) {
		if err != nil {
			l.t.Fatal(err)
		}
		break
	}
	return log
}

// open opens the knowledge base of a project with a ledger in memory, which
// projects of other tests have been in. A test that counts events asks for one of
// its own.
func open(t testing.TB, root string) *documents.Base {
	t.Helper()
	return openWith(t, root, anyLog(t))
}

var common struct {
	sync.Mutex
	lent int
	log  *ledger.Ledger // stays open: the process ends soon
}

// anyLog is a ledger for a project that does not mind who was there before.
func anyLog(t testing.TB) *ledger.Ledger {
	t.Helper()
	common.Lock()
	defer common.Unlock()
	if common.lent%40 == 0 {
		l, err := ledger.Open("duckdb:///:memory:", ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		common.log = l
	}
	common.lent++
	return common.log
}

func memory(t testing.TB) *ledger.Ledger {
	t.Helper()
	return memoryWith(t, ledger.Options{})
}

func memoryWith(t testing.TB, opts ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open("duckdb:///:memory:", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// logs lends ledgers in memory to the projects of one test, one after another:
// opening one takes longer than most of what is done with it, and projects that
// share one do not see each other.
type logs struct {
	t    testing.TB
	opts ledger.Options
	lent int
	log  *ledger.Ledger
	last *ledger.Ledger // the one before it, which a project may be in yet
}

// next is a ledger for one more project. After some it is a new one, for every
// project reads what those before it left.
func (l *logs) next() *ledger.Ledger {
	l.t.Helper()
	if l.lent%20 == 0 {
		if l.last != nil {
			l.last.Close()
		}
		l.last, l.log = l.log, memoryWith(l.t, l.opts)
	}
	l.lent++
	return l.log
}

func openWith(t testing.TB, root string, l *ledger.Ledger) *documents.Base {
	t.Helper()
	b, err := documents.Open(documents.Options{Root: root, Ledger: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// paths are the paths of a list or search answer.
func paths(answer *canon.Object) []string {
	rows, _ := answer.Value("documents").([]any)
	if more, ok := answer.Value("results").([]any); ok {
		rows = more
	}
	var out []string
	for _, r := range rows {
		o, _ := r.(*canon.Object)
		s, _ := o.Value("path").(string)
		out = append(out, s)
	}
	return out
}

// foldDisk is the documents and relations as they lie on the disk, in the form
// of documents.FoldLog. It reads the disk in its own way.
func foldDisk(t failing, root string) []string {
	t.Helper()
	base := filepath.Join(root, ".archcore")
	var out []string
	err := filepath.WalkDir(base, func(full string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(base, full)
		if d.IsDir() && rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "global") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && strings.HasSuffix(d.Name(), ".md") {
			data, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			out = append(out, filepath.ToSlash(rel)+" "+documents.AddressOf(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	var rels []string
	if data, err := os.ReadFile(filepath.Join(base, ".sync-state.json")); err == nil {
		o, err := canon.ParseObject(data, canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		list, _ := o.Value("relations").([]any)
		for _, r := range list {
			e := r.(*canon.Object)
			rels = append(rels, "rel "+e.Value("source").(string)+" "+e.Value("type").(string)+" "+e.Value("target").(string))
		}
	}
	slices.Sort(rels)
	settings := ""
	if data, err := os.ReadFile(filepath.Join(base, "settings.json")); err == nil {
		settings = documents.AddressOf(data)
	}
	return append(append(out, rels...), "settings "+settings)
}
