package resolve

import (
	"github.com/arche-ledger/arche/internal/canon"
)

// Engine versions. A decision's pins name the one it was made under.
const (
	EngineV1 = "crosswalk.v1" // the published behaviour, the default
	EngineV2 = "crosswalk.v2" // every script, fillers, dates and ids as people write them
)

// Pack versions.
const (
	PackVersionDefault = "0.9"
	PackVersion010     = "0.10"
)

// Defaults of a call.
const (
	DefaultThreshold  = 0.7
	ReviewMargin      = 0.15
	DistinctiveFloor  = 0.75
	DefaultIDField    = "id"
	BlockUnion        = "union"
	BlockNone         = "none"
	maxPairsPerKey    = 1000
	backendFloor      = 1000
	decisionMatch     = "match"
	decisionReview    = "review"
	identitySame      = "same_entity"
	identityDifferent = "different"
)

// Request is one comparison of two lists of records.
type Request struct {
	A, B         []*canon.Object
	Entity       string          // a pack, "organisation" or "organisation@0.10"; "" when Comparators are given
	Comparators  []*canon.Object // a comparator list of the caller's own
	Backend      string          // "" is the default, the scorer of this package
	Threshold    float64         // a match needs at least this score; callers fill DefaultThreshold
	ThresholdInt bool            // the caller wrote the threshold as an integer, which the pins keep
	IDField      string          // "" is "id"
	Block        string          // "" is union with an entity and none with comparators; "none" scores every pair
	PackVersion  string          // "" is the default, "0.9"
	Engine       string          // "" is crosswalk.v1

	// MaxPairs is how many pairs a call without blocking may score, or keys
	// without a bound may bring to one with; 0 is DefaultMaxPairs and
	// DefaultMaxBlocked.
	MaxPairs int64

	// MaxEdges is how many pairs may match or need review; 0 is DefaultMaxEdges,
	// and DefaultMaxStreamed for Stream. More end the call.
	MaxEdges int64

	// Dedupe compares A with itself (B is not given): each pair of different
	// rows once, the earlier row on side a.
	Dedupe bool

	// OpenScratch opens the database that backend "splink" counts in; only that
	// backend needs it. Model, when given, is a model for it to use instead of
	// training one (a settings document of Splink, or Result.Model).
	OpenScratch func() (Scratch, error)
	Model       []byte

	// Progress, when set, is told how many rows of A are done. It is called
	// from one goroutine at a time.
	Progress func(done, total int64)
}

// Edge is one pair at or above the review floor.
type Edge struct {
	AID, BID       any     // the records' ids as they were given, or their positions
	I, J           int     // positions in A and B
	Score          float64 // rounded to 4 decimals
	Decision       string  // match or review
	Evidence       *canon.Object
	DistinctiveMax float64 // rounded to 3 decimals
	DecisionID     string  // xwd:sha256:...
}

// Result is everything a comparison found.
type Result struct {
	Edges    []Edge        // by score descending, then by position
	Pins     *canon.Object // what the decisions were made under
	Blocking *canon.Object // how many pairs were scored and why
	Backend  *canon.Object // which scorer was chosen; nil when the caller chose it
	Warnings []string
	Model    []byte // backend "splink": the model, as settings of Splink

	// IgnoredFields are fields of the records that the pack does not name,
	// sorted; only a pack call lists them. The second engine reads some of them
	// all the same, as other names of fields: ReadAs says which.
	IgnoredFields []string
	ReadAs        *canon.Object
}

// PairRequest asks for one verdict on two records.
type PairRequest struct {
	A, B         *canon.Object
	Entity       string // "" is person
	Jurisdiction string // "" is default; only the person engine reads it
	PackVersion  string
	Engine       string
}

// PairResult is the verdict on two records.
type PairResult struct {
	Identity     string // same_entity, review or different
	Action       string // merge, hold or no_op
	Score        float64
	Basis        string
	Explanation  string
	Factors      *canon.Object
	Gate         *canon.Object
	Vetoes       *canon.Object
	FieldWeights *canon.Object
	Pins         *canon.Object
	ReferenceIDA string
	ReferenceIDB string
	Jurisdiction string
	DecisionID   string
}
