package attest

import (
	"fmt"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// Text returns the check as lines for a terminal, in the published order.
func (c *Check) Text() string {
	var b strings.Builder
	row := func(name string, value any) { fmt.Fprintf(&b, "%-16s%s\n", name, canon.Text(value)) }
	row("tool", c.Tool)
	row("signer", c.Signer)
	row("valid", c.Valid)
	if c.Trusted {
		row("trusted", true)
	} else {
		row("trusted", "False   (no key pinned: integrity shown, authorship not)")
	}
	if c.InputsMatch != nil {
		row("inputs_match", *c.InputsMatch)
	}
	if c.ResponseMatch != nil {
		row("response_match", *c.ResponseMatch)
	}
	for _, id := range c.DecisionIDs {
		row("decision", id)
	}
	for _, p := range c.Problems {
		fmt.Fprintf(&b, "  ! %s\n", p)
	}
	if c.OK() {
		b.WriteString("OK\n")
	} else {
		b.WriteString("NOT OK\n")
	}
	return b.String()
}
