package duck_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/ledger/duck"
)

func head(seq int64) duck.Head {
	return duck.Head{Log: "main", Seq: seq, Link: strings.Repeat("a", 64), Debt: seq}
}

func TestHeadSurvivesTornWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.head")
	hf, _, found, err := duck.OpenHead(path, nil)
	if err != nil || found {
		t.Fatal(found, err)
	}
	for i := int64(1); i <= 5; i++ {
		if err := hf.Write(head(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := hf.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := duck.ReadHead(path); err != nil || got != head(5) {
		t.Fatalf("%+v %v", got, err)
	}
	// Head 5 was write 6, in slot 0: any damage there must give back head 4,
	// and damage to the other slot must not matter.
	for i := range whole {
		if whole[i] == ' ' || whole[i] == '\n' {
			continue
		}
		bad := append([]byte(nil), whole...)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		want := head(5)
		if i < len(whole)/2 {
			want = head(4)
		}
		if got, _, err := duck.ReadHead(path); err != nil || got != want {
			t.Fatalf("byte %d flipped: %+v %v, want %+v", i, got, err, want)
		}
	}
	if err := os.WriteFile(path, make([]byte, len(whole)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := duck.ReadHead(path); !errors.Is(err, duck.ErrHeadDamaged) {
		t.Errorf("zeros: %v", err)
	}
}

func TestHeadFaultsLeaveTheOldHead(t *testing.T) {
	for _, op := range []string{"head.write", "head.sync"} {
		path := filepath.Join(t.TempDir(), "a.head")
		var fail bool
		hf, _, _, err := duck.OpenHead(path, func(o string) error {
			if fail && o == op {
				return errors.New("input/output error")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := hf.Write(head(1)); err != nil {
			t.Fatal(err)
		}
		fail = true
		if err := hf.Write(head(2)); err == nil {
			t.Errorf("%s: no error", op)
		}
		fail = false
		got, _, err := duck.ReadHead(path)
		if err != nil || got != head(1) && got != head(2) {
			t.Errorf("%s: %+v %v", op, got, err)
		}
		if err := hf.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzReadHead(f *testing.F) {
	f.Add([]byte("arche.head.v1 1 main 0 " + strings.Repeat("0", 64) + " 0 0123456789abcdef\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.head")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		h, found, err := duck.ReadHead(path)
		if err == nil && found && len(h.Link) != 64 {
			t.Errorf("accepted head %+v", h)
		}
	})
}

// TestHeadFormat: the file is two lines of 256 bytes, written in turn, and other
// versions read what this one writes.
func TestHeadFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.head")
	hf, _, _, err := duck.OpenHead(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := duck.Head{Log: "main", Seq: 1234567890123, Link: strings.Repeat("a1", 32), Debt: 4567}
	for range 11 {
		if err := hf.Write(want); err != nil {
			t.Fatal(err)
		}
	}
	if err := hf.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) != 512 {
		t.Fatal(len(data), err)
	}
	for k, begins := range []string{
		"arche.head.v1 12 main 1234567890123 " + want.Link + " 4567 ", "arche.head.v1 11 main 1234567890123 " + want.Link + " 4567 ",
	} {
		slot := string(data[256*k : 256*(k+1)])
		text, _ := strings.CutPrefix(slot, begins)
		if sum := strings.TrimRight(text, " \n"); len(sum) != 16 || !strings.HasSuffix(slot, " \n") || strings.Count(slot, "\n") != 1 {
			t.Errorf("slot %d: %q", k, slot)
		}
	}
	if got, found, err := duck.ReadHead(path); err != nil || !found || got != want {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
	// The newer slot torn, the older one is believed.
	copy(data[100:], "torn")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := duck.ReadHead(path); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}
