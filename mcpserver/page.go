package mcpserver

import "github.com/arche-ledger/arche/internal/canon"

var (
	one  = 1.0
	zero = 0.0
)

// limitArg is an argument of ours that keeps a long list from filling a
// model's context. Without it everything is answered, as published.
func limitArg(description string) Arg {
	return Arg{Name: "limit", Kind: Integer, Nullable: true, Added: true, Min: &one, Description: description}
}

// PageArgs are the arguments limit and offset of long lists.
func PageArgs() []Arg {
	return []Arg{
		limitArg("Most items to answer; null is all. count stays the whole number."),
		{Name: "offset", Kind: Integer, Nullable: true, Added: true, Min: &zero, Description: "Items to skip before the page."},
	}
}

// page cuts the list under key down to what limit and offset ask for and says
// whether more follows. Without them the answer is left as it is.
func page(answer *canon.Object, key string, a *Args) *canon.Object {
	if !a.Given("limit") && !a.Given("offset") {
		return answer
	}
	from, limit := a.Int("offset"), a.Int("limit")
	out := answer.Clone()
	cut := func(n int) (int, int) {
		start := min(from, n)
		if !a.Given("limit") {
			return start, n
		}
		return start, start + min(limit, n-start)
	}
	var start, end, n int
	switch list := answer.Value(key).(type) {
	case []any:
		n = len(list)
		start, end = cut(n)
		out.Set(key, list[start:end])
	case []*canon.Object:
		n = len(list)
		start, end = cut(n)
		out.Set(key, list[start:end])
	default:
		return answer
	}
	out.Set("offset", start)
	out.Set("returned", end-start)
	out.Set("truncated", end < n)
	return out
}
