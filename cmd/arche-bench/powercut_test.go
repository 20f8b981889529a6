package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hexed(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String()
}

// traced is a trace of a process that writes into /d.
func traced() string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(strings.Join([]string{
		`7 openat(AT_FDCWD, "<elsewhere>", O_RDONLY|O_CLOEXEC) = 3`,
		`7 write(3, "\x61", 1) = 1`,
		`7 openat(AT_FDCWD, "<file>", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 4`,
		`7 pwrite64(4, "\x61\x62\x63\x64", 4, 2) = 3`, // one byte did not go
		`8 write(4, "\x78\x79", 2 <unfinished ...>`,
		`7 fsync(4 <unfinished ...>`,
		`8 <... write resumed>) = 2`,
		`7 <... fsync resumed>) = 0`,
		`7 openat(AT_FDCWD, "<log>", O_WRONLY|O_CREAT|O_APPEND|O_CLOEXEC, 0600) = 5`,
		`7 write(5, "\x31", 1) = 1`,
		`7 pwrite64(5, "\x00", 1, 9) = -1 EIO (Input/output error)`,
		`7 write(5, "\x32", 1) = 1`,
		`7 --- SIGURG {si_signo=SIGURG} ---`,
		`7 close(5) = 0`,
		`7 renameat(AT_FDCWD, "<log>", AT_FDCWD, "<file>") = 0`,
		`7 openat(AT_FDCWD, "/d", O_RDONLY|O_CLOEXEC) = 5`,
		`7 fsync(5) = 0`,
		`7 write(1, "\x61\x63\x6b\x0a", 4) = 4`,
		`7 ftruncate(4, 1) = 0`,
		`7 unlinkat(AT_FDCWD, "<file>", 0) = 0`,
		`7 write(4, "\x7a", 1`,
		`8 +++ killed by SIGKILL +++`,
	}, "\n"), "<elsewhere>", hexed("/e/f")), "<file>", hexed("/d/file")), "<log>", hexed("/d/log"))
}

func watched(t *testing.T, text string) *watcher {
	t.Helper()
	w := newWatcher("/d")
	text = strings.ReplaceAll(text, `"/d"`, `"`+hexed("/d")+`"`)
	if err := (&traceReader{}).read(strings.NewReader(text), w.call); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTraceOfAFolder: what a trace says of a folder is its changes, in their
// order, each with what had ended when it began.
func TestTraceOfAFolder(t *testing.T) {
	var got []string
	for _, op := range watched(t, traced()).ops {
		got = append(got, fmt.Sprintf("%s %s%s at %d %q size %d after %d", op.kind, op.name, op.to, op.at, op.data, op.size, op.begun))
	}
	want := []string{
		`create file at 0 "" size 0 after 0`,
		`write file at 2 "abc" size 0 after 1`,
		`write file at 0 "xy" size 0 after 2`,
		`sync file at 0 "" size 0 after 2`, // the write ended while it ran
		`create log at 0 "" size 0 after 4`,
		`write log at 0 "1" size 0 after 5`,
		`write log at 1 "2" size 0 after 6`,
		`rename logfile at 0 "" size 0 after 7`,
		`sync folder  at 0 "" size 0 after 8`,
		`said  at 0 "ack\n" size 0 after 9`,
		`truncate file at 0 "" size 1 after 10`,
		`remove file at 0 "" size 0 after 11`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPowerDisk: at each moment the least that a power cut leaves, and the most.
func TestPowerDisk(t *testing.T) {
	d := newPowerDisk()
	show := func(files map[string][]byte) string { return strings.ReplaceAll(fmt.Sprintf("%q", files), "map", "") }
	var got []string
	for _, op := range watched(t, traced()).ops {
		d.do(op)
		got = append(got, fmt.Sprintf("%s: %s to %s, %s", op.kind, show(d.image(cutAll, nil)), show(d.image(cutNone, nil)), show(d.image(cutNames, nil))))
	}
	want := []string{
		`create: [] to ["file":""], []`,
		`write: [] to ["file":"\x00\x00abc"], []`,
		`write: [] to ["file":"xyabc"], []`,
		`sync: [] to ["file":"xyabc"], []`,
		`create: [] to ["file":"xyabc" "log":""], []`,
		`write: [] to ["file":"xyabc" "log":"1"], []`,
		`write: [] to ["file":"xyabc" "log":"12"], []`,
		`rename: [] to ["file":"12"], []`,
		`sync folder: ["file":""] to ["file":"12"], ["file":"12"]`,
		`said: ["file":""] to ["file":"12"], ["file":"12"]`,
		`truncate: ["file":""] to ["file":"12"], ["file":"12"]`,
		`remove: ["file":""] to [], ["file":"12"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTornWrite: of a write that was not synced any sectors may arrive, and none
// is ever mixed.
func TestTornWrite(t *testing.T) {
	f := &diskFile{durable: bytes.Repeat([]byte("o"), 4*sector)}
	f.pending = []numbered{{diskOp: diskOp{kind: "write", at: 100, data: bytes.Repeat([]byte("n"), 3*sector)}}}
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for range 200 {
		data := f.image(cutDrawn, random)
		var key strings.Builder
		for k := range 4 {
			part := data[k*sector : (k+1)*sector]
			from, to := max(0, 100-k*sector), min(sector, 100+3*sector-k*sector)
			switch inner := part[from:to]; {
			case bytes.Count(inner, []byte("n")) == len(inner):
				key.WriteByte('n')
			case bytes.Count(inner, []byte("o")) == len(inner):
				key.WriteByte('o')
			default:
				t.Fatalf("sector %d is mixed", k)
			}
			if bytes.Count(part, []byte("o")) < sector-(to-from) {
				t.Fatalf("sector %d is new where nothing was written", k)
			}
		}
		seen[key.String()]++
	}
	if len(seen) < 12 || seen["nnnn"] == 0 || seen["oooo"] == 0 {
		t.Errorf("%v", seen)
	}
}

// TestTracesThatTellTooLittle are refused, not passed over.
func TestTracesThatTellTooLittle(t *testing.T) {
	at := `"` + hexed("/d/x") + `"`
	for name, text := range map[string]string{
		"a call that is not modelled":    `1 openat(AT_FDCWD, ` + at + `, O_RDWR|O_CREAT, 0600) = 4` + "\n" + `1 fallocate(4, 0, 0, 9) = 0`,
		"a path that is not modelled":    `1 truncate(` + at + `, 9) = 0`,
		"a rename out of the folder":     `1 rename(` + at + `, "` + hexed("/e/x") + `") = 0`,
		"a string that was cut":          `1 write(1, "\x61"..., 9) = 9`,
		"an escape of another kind":      `1 write(1, "a", 1) = 1`,
		"a call that goes on unbegun":    `1 <... write resumed>) = 1`,
		"an escape of no digits":         `1 write(1, "\xzz", 1) = 1`,
		"a place that is no number":      `1 openat(AT_FDCWD, ` + at + `, O_RDWR|O_CREAT, 0600) = 4` + "\n" + `1 pwrite64(4, "\x61", 1, x) = 1`,
		"a size that is no number":       `1 openat(AT_FDCWD, ` + at + `, O_RDWR|O_CREAT, 0600) = 4` + "\n" + `1 ftruncate(4, x) = 0`,
		"a rename into the folder":       `1 renameat(AT_FDCWD, "` + hexed("/e/x") + `", AT_FDCWD, ` + at + `) = 0`,
		"a link":                         `1 link("` + hexed("/e/x") + `", ` + at + `) = 0`,
		"a string that does not end":     `1 write(1, "\x61, 1) = 1`,
		"an escape that is not complete": `1 write(1, "\x6", 1) = 1`,
	} {
		if err := (&traceReader{}).read(strings.NewReader(text), newWatcher("/d").call); err == nil {
			t.Errorf("%s is passed over", name)
		}
	}
}

// TestPowercut records a real writer and cuts the power a few times.
func TestPowercut(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("there is no strace")
	}
	var out bytes.Buffer
	if err := runPowercut([]string{"--works", "single", "--units", "3", "--moments", "2", "--seed", "4"}, &out); err != nil {
		if strings.Contains(err.Error(), "recorded nothing") {
			t.Skip(err)
		}
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "| single | ") {
		t.Error(out.String())
	}
}
