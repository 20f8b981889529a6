package attest

import (
	"errors"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// ParseJSON reads a file that Verify is asked about. A repeated object key is
// refused: readers disagree on which of the two counts, so a proof over one of
// them proves nothing.
func ParseJSON(data []byte) (any, error) {
	v, err := canon.Parse(data, canon.Limits{NonFinite: true, Unique: true})
	switch {
	case errors.Is(err, canon.ErrRepeated):
		return nil, fault.Wrap(err, fault.Invalid, "%s", err)
	case err != nil:
		return nil, fault.New(fault.Invalid, "not JSON: %v", err)
	}
	return v, nil
}
