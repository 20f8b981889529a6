package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/arctest/histories"
)

// checkHistories lets 8 clients call 3 processes at once and looks for an order
// of the calls, one after another, that explains every answer.
func checkHistories(dir string, rounds, calls int, random *rand.Rand, stdout io.Writer) error {
	if rounds == 0 {
		return nil
	}
	total := 0
	for n := range rounds {
		servers, err := startServers(filepath.Join(dir, fmt.Sprintf("history-%d.duckdb", n)), 3)
		if err != nil {
			return err
		}
		seen, err := histories.Record(random.Uint64(), 8, calls, func(client int, c histories.Call) (string, error) {
			return servers[client%len(servers)].call(c)
		})
		if err := errors.Join(err, stopServers(servers)); err != nil {
			return err
		}
		if err := histories.Explained(seen); err != nil {
			return fmt.Errorf("history %d: %w", n+1, err)
		}
		total += len(seen)
	}
	fmt.Fprintf(stdout, "%d histories of 8 clients on 3 processes, %d calls: all linearizable\n", rounds, total)
	return nil
}
