package extract_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/arche-ledger/arche/detect/extract"
)

func ExampleRead() {
	d, err := extract.Read(context.Background(), "page.html", []byte("<p>Dear <b>Grace</b></p><p>call 0803 555 7890</p>"), extract.Limits{})
	if err != nil {
		panic(err)
	}
	part, offset := d.Where(strings.Index(d.Text, "0803"))
	fmt.Println(d.Kind, part, offset)
	// Output:
	// html paragraph 2 5
}
