package places_test

import (
	"fmt"

	"github.com/arche-ledger/arche/detect/places"
)

func ExampleExtract() {
	answer := places.Extract("Pick up from 123 Maple Street and deliver to the shop near Shoprite Mall, Ikeja.")
	for _, p := range answer.Places {
		fmt.Println(p.Role, p.Start, p.End, *p.Cue, *p.CueRule, p.ComponentsPresent)
	}
	// Output:
	// origin 13 29 pick up from pickup_origin [street street_number]
	// destination 54 79 deliver to deliver_destination [anchor anchor_type city]
}
