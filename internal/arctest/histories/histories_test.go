package histories_test

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/arche-ledger/arche/internal/arctest/histories"
)

// TestExplained: a history that forgets what was answered has no explanation.
func TestExplained(t *testing.T) {
	op := func(client int, c histories.Call, out string, call, ret int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: c, Call: call, Output: out, Return: ret}
	}
	pair, read := histories.Call{Op: "pair", Key: 1}, histories.Call{Op: "entities"}
	fine := []porcupine.Operation{op(0, pair, "1", 0, 10), op(1, read, "0", 5, 15), op(1, read, "1", 16, 20)}
	if err := histories.Explained(fine); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string][]porcupine.Operation{
		"a lost write":    {op(0, pair, "1", 0, 10), op(1, read, "0", 11, 15)},
		"a read backward": {op(0, pair, "1", 0, 20), op(1, read, "1", 5, 8), op(1, read, "0", 9, 12)},
		"found too early": {op(0, histories.Call{Op: "resolve", Key: 2}, "found", 0, 5)},
		"case not opened": {op(0, histories.Call{Op: "case", Key: 2}, "1", 0, 5), op(0, histories.Call{Op: "cases"}, "0", 6, 8)},
	} {
		if histories.Explained(bad) == nil {
			t.Errorf("%s is explained", name)
		}
	}
}
