package documents_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestMain lets the test binary be one of several processes on one project.
func TestMain(m *testing.M) {
	if role := os.Getenv("DOCUMENTS_TEST_ROLE"); role != "" {
		if err := work(role, os.Getenv("DOCUMENTS_TEST_ROOT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What each process of TestFourProcesses does.
const (
	processes = 4
	edgesEach = 50
	docsEach  = 25
)

// work is one process: with a number, that worker's share of edges and
// documents; with kill:N, one that dies in a write after N steps.
func work(role, root string) error {
	ctx := ledger.WithActor(context.Background(), "worker:"+role)
	b, err := documents.Open(documents.Options{Root: root})
	if err != nil {
		return err
	}
	if steps, ok := strings.CutPrefix(role, "kill:"); ok {
		stop, n := 0, 0
		if stop, err = strconv.Atoi(steps); err != nil {
			return err
		}
		documents.SetStep(b, func(string) error {
			if n++; n > stop {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {}
			}
			return nil
		})
		_, err = b.Remove(ctx, ".archcore/d000.doc.md")
		return err
	}
	defer b.Close()
	worker, err := strconv.Atoi(role)
	if err != nil {
		return err
	}
	for i := range edgesEach {
		_, err := b.AddRelation(ctx, documents.RelationRequest{Source: "d000.doc.md",
			Target: fmt.Sprintf("d%03d.doc.md", 1+worker*edgesEach+i), Type: "related"})
		if err != nil {
			return err
		}
		if i%2 == 0 {
			_, err := b.Create(ctx, documents.CreateRequest{Type: "adr", Filename: fmt.Sprintf("w%d-%d", worker, i), Directory: "new", Content: "x\n"})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func start(t *testing.T, role, root string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "DOCUMENTS_TEST_ROLE="+role, "DOCUMENTS_TEST_ROOT="+root)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func manyFiles(n int) map[string]string {
	files := map[string]string{"settings.json": "{\n  \"sync\": \"none\"\n}\n"}
	for i := range n {
		files[fmt.Sprintf("d%03d.doc.md", i)] = fmt.Sprintf("---\ntitle: \"D%d\"\nstatus: draft\n---\n\nx\n", i)
	}
	return files
}

// TestFourProcesses: four processes add 200 edges and write 100 documents at
// once, with the project's own ledger. None is lost, on the disk or in the
// ledger, and each event names who it is by.
func TestFourProcesses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts four processes")
	}
	root := project(t, manyFiles(1+processes*edgesEach))
	var all []*exec.Cmd
	for i := range processes {
		all = append(all, start(t, strconv.Itoa(i), root))
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	b, err := documents.Open(documents.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	answer, err := b.Relations(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if rels, _ := answer.Value("relations").([]any); len(rels) != processes*edgesEach {
		t.Errorf("%d relations, want %d", len(rels), processes*edgesEach)
	}
	list, err := b.List(t.Context(), documents.ListRequest{Types: []string{"adr"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := list.Value("total"); n != processes*docsEach {
		t.Errorf("%v documents, want %d", n, processes*docsEach)
	}
	logged, err := documents.FoldLog(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if disk := foldDisk(t, root); strings.Join(disk, "\n") != strings.Join(logged, "\n") {
		t.Errorf("the ledger does not agree with the disk: %d against %d lines", len(logged), len(disk))
	}
	versions, err := b.Versions(t.Context(), "new/w2-4.adr.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) != 1 || versions[0].Actor != "worker:2" || versions[0].Tool != "create_document" {
		t.Errorf("history of one document: %+v", versions)
	}
}

// TestKilledProcesses kills a real process between the steps of a removal, one
// run for each step, and looks at what the next process finds.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	for stop := 1; ; stop++ {
		files := manyFiles(3)
		files[".sync-state.json"] = "{\n  \"version\": 1,\n  \"files\": {},\n  \"relations\": [\n" +
			"    {\n      \"source\": \"d000.doc.md\",\n      \"target\": \"d001.doc.md\",\n      \"type\": \"related\"\n    },\n" +
			"    {\n      \"source\": \"d001.doc.md\",\n      \"target\": \"d002.doc.md\",\n      \"type\": \"related\"\n    }\n  ]\n}\n"
		root := project(t, files)
		finished := start(t, fmt.Sprintf("kill:%d", stop), root).Wait() == nil
		b, err := documents.Open(documents.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.List(t.Context(), documents.ListRequest{}); err != nil {
			t.Fatal(err)
		}
		disk, err := documents.FoldLog(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		found := foldDisk(t, root)
		b.Close()
		if strings.Join(disk, "\n") != strings.Join(found, "\n") {
			t.Errorf("killed after %d steps: ledger and disk differ\n%v\n%v", stop, disk, found)
		}
		gone := !strings.Contains(strings.Join(found, "\n"), "d000.doc.md ")
		edge := strings.Contains(strings.Join(found, "\n"), "rel d000.doc.md")
		if gone == edge {
			t.Errorf("killed after %d steps: document gone %t, its relation there %t", stop, gone, edge)
		}
		if finished {
			if !gone {
				t.Error("the write was finished and is not there")
			}
			return
		}
	}
}
