package guard_test

import (
	"context"
	"fmt"

	"github.com/arche-ledger/arche/jurisdiction/guard"
)

func ExampleScan() {
	res := guard.Scan(context.Background(), guard.Request{
		Text:         "Patient Casey Example (NIN 12345678901) called from 0803 555 7890.",
		Jurisdiction: "NG",
		Key:          "demo-key",
	})
	fmt.Println(res.Text)
	for _, f := range res.Fields {
		fmt.Println(f.Category, f.Action, f.Tier, f.Citation)
	}
	// Output:
	// Patient Casey Example (NIN [NIN:de11776532b6f1b0]) called from [PHONE:53bb10448ce546a9].
	// PII-2-NIN mask high NDPA-2023 s.30, NIMC Act s.27
	// PII-3-PHONE tokenize moderate NDPA-2023 s.30
}

func ExampleScan_refused() {
	res := guard.Scan(context.Background(), guard.Request{Text: "Casey Example", Jurisdiction: "UK", Key: "demo-key"})
	fmt.Println(res.Denied, res.Reason)
	// Output:
	// true no policy, so no permission to emit: no statute pack ships for UK; GB is the code that was probably meant. Name a statute, for example 'BASELINE'.
}
