package resolve_test

import (
	"context"
	"fmt"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

func ExampleCompare() {
	suppliers := []*canon.Object{
		canon.Obj("id", "s1", "name", "Kijani Tea Exporters Ltd"),
		canon.Obj("id", "s2", "name", "Central Cooperative Society"),
	}
	registry := []*canon.Object{
		canon.Obj("id", "r1", "name", "Kijani Tea Exporters Limited"),
		canon.Obj("id", "r2", "name", "Central Cooperative Society"),
	}
	res, err := resolve.Compare(context.Background(), resolve.Request{
		A: suppliers, B: registry, Entity: "organisation", Threshold: resolve.DefaultThreshold,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range res.Edges {
		fmt.Println(e.AID, e.BID, e.Decision, e.Score, e.DistinctiveMax)
	}
	// Output:
	// s1 r1 match 1 0.86
	// s2 r2 review 1 0.594
}

func ExampleComparePair() {
	res, err := resolve.ComparePair(context.Background(), resolve.PairRequest{
		Entity: "person",
		A:      canon.Obj("name", "Fatima Abdullahi", "phone", "+234 803 555 0199"),
		B:      canon.Obj("name", "Fatuma Abdulahi", "phone", "08035550199"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Identity, res.Action, "|", res.Explanation)
	// Output: same_entity merge | phone match; name similarity 91%
}
