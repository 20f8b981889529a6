package duck

import (
	"os"
	"strings"
	"testing"
)

// TestHeadIsSynced: a head that cannot be synced is not remembered. The null
// device takes writes and refuses to sync, so a write that never asks for the
// sync, or drops its error, would succeed here.
func TestHeadIsSynced(t *testing.T) {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	hf := &HeadFile{f: f, count: 1}
	if err := hf.Write(Head{Log: "main", Seq: 1, Link: strings.Repeat("a", 64)}); err == nil {
		t.Error("a head that was never synced is taken as durable")
	}
	if hf.count != 1 {
		t.Error("the slot of a failed write is not used again")
	}
	if err := hf.Close(); err != nil {
		t.Error(err)
	}
}
