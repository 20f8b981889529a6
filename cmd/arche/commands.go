package main

import "github.com/spf13/cobra"

// commands are the constructors of all commands, in the order help lists them.
// A subject adds one line here and lives in a file of its own.
var commands = []func(*app) *cobra.Command{
	newQuickstart, newMCP, newServe,
	newCompare, newDedupe, newDecision, newExplain, newReplay, newEntities, newPath, newCases, newResolve, newObserve, newDecide, newUndo, newReview, newForget, newRetention, newExport, newImport,
	newDetect, newRedact, newPlan, newInfer,
	newDoc, newInit, newHooks,
	newCapabilities, newPacks, newAttest,
	newLedger, newProve, newDoctor,
	newVersion,
}
