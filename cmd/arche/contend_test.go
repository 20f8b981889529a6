package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest/agents"
)

// TestFourServersOnOneFile: four real servers on one new ledger are sent 25
// comparisons each at once by clients of the SDK. All 100 are recorded, no call
// fails, and each server sees all of them.
func TestFourServersOnOneFile(t *testing.T) {
	const servers, each = 4, 25
	path := filepath.Join(t.TempDir(), "shared.duckdb")
	all, err := agents.StartAll(t.Context(), servers, func() (*exec.Cmd, error) {
		return program(t, []string{"ARCHE_LEDGER=duckdb:///" + path, "ARCHE_LEDGER_WAIT=60s"}, "mcp"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o := agents.AllAtOnce(t.Context(), all, each)
	if err := o.Whole(servers); err != nil {
		t.Error(err)
	}
	t.Logf("%d calls took %v", o.Sent, o.Took)
	if err := agents.StopAll(all); err != nil {
		t.Error(err)
	}
}
