// Package splink links two lists of records with a Fellegi-Sunter model that it
// derives from an entity pack and trains, without labels, on the lists
// themselves.
//
// Run does it all: it picks the columns both lists carry, derives comparison
// levels and blocking rules, counts comparison vectors in a scratch database,
// estimates the model by expectation-maximisation, and scores the candidates. A
// model that is given is used as it is. Model.JSON writes the settings format of
// the Splink package, which loads and predicts with it on any of its engines;
// ReadModel reads that format back.
//
// The same input and model give the same result with any number of threads: the
// database is asked for integer counts and levels only, and every sum of floats
// is made here in a fixed order.
package splink

import "context"

// Scratch is a database for the joins: empty at first, never a ledger, one
// caller at a time. Values given to Load and bound in queries are int64,
// float64, string or nil.
type Scratch interface {
	Exec(ctx context.Context, sql string, args ...any) error
	// Load makes a table of the given column definitions and fills it with
	// what next returns until that is nil.
	Load(ctx context.Context, table string, columns []string, next func() ([]any, error)) error
	// Query streams rows; values are valid during the call only.
	Query(ctx context.Context, sql string, args []any, row func(values []any) error) error
	Close() error
}

// Engine names, in pins, the arithmetic that turns columns into probabilities.
// It is this package's, not that of the Splink package.
const Engine = "arche.splink.v1"

// Comparator is what the model needs to know of one comparator of a pack.
type Comparator struct {
	Kind     string
	Field    string
	Lat, Lon string // fields of a geo comparator
}
