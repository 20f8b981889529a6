package ledger

import (
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// OpenScratch opens an empty database for joins that keep nothing: what
// resolve.Request.OpenScratch asks for. It is in memory, spills to a private
// folder, and never sees a ledger.
func OpenScratch() (resolve.Scratch, error) { return duck.OpenScratch(duck.Options{}) }
