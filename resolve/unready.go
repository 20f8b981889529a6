package resolve

import (
	"context"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

var errUnready = fault.New(fault.Internal, "the resolution engine is being assembled")

// Compare scores the candidate pairs of two lists.
func Compare(ctx context.Context, req Request) (*Result, error) { return nil, errUnready }

// Answer is the result as compare_records answers it.
func (r *Result) Answer() *canon.Object { return canon.Obj() }

// ComparePair decides on two records.
func ComparePair(ctx context.Context, req PairRequest) (*PairResult, error) { return nil, errUnready }

// WhyUnresolved says what would settle an undecided pair.
func WhyUnresolved(ctx context.Context, a, b *canon.Object, entity, packVersion string) (*canon.Object, error) {
	return nil, errUnready
}

// WouldResolve names the fields that would settle a stored review.
func WouldResolve(entity, packVersion string, a, b *canon.Object, score float64, distinctiveMax *float64, threshold *float64) (labels []string, ok bool, err error) {
	return nil, false, errUnready
}

// CheckNames compares two names.
func CheckNames(a, b string) *canon.Object { return canon.Obj() }

// DescribePack says which fields a pack reads.
func DescribePack(entity, packVersion string) (*canon.Object, error) { return nil, errUnready }

// Entities returns the pack names, sorted.
func Entities() []string { return nil }

// Corpus is a set of records that newcomers are compared with.
type Corpus struct{}

// NewCorpus makes an empty corpus for a pack.
func NewCorpus(entity, packVersion, engine string) (*Corpus, error) { return nil, errUnready }

// Add puts a record in, under the id that edges name it by.
func (c *Corpus) Add(id string, rec *canon.Object) {}

// Len returns the number of records.
func (c *Corpus) Len() int { return 0 }

// Match compares a newcomer with every record.
func (c *Corpus) Match(ctx context.Context, newcomer *canon.Object) (*Result, error) {
	return nil, errUnready
}
