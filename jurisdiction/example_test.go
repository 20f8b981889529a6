package jurisdiction_test

import (
	"fmt"

	"github.com/arche-ledger/arche/jurisdiction"
)

func ExampleInfer() {
	inf := jurisdiction.Infer("Corporate Affairs Commission RC 123456, ₦500 due")
	fmt.Println(*inf.Country, *inf.StatuteID, inf.Reason)
	// Output:
	// NG NDPA-2023 strongest signal registrar.cac, 100% of total evidence weight
}

func ExamplePlan() {
	plan, err := jurisdiction.Plan("NG", "", "")
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Verdict, *plan.StatuteID, len(plan.Governed), len(plan.Covered))
	fmt.Println(plan.Uncovered[:4], plan.DegradedCategories)
	// Output:
	// partial NDPA-2023 27 14
	// [PII-5-BANK_ACCOUNT PII-5-CARD PII-5-MPESA_REF PII-6-BIOMETRIC] []
}
