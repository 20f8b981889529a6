package jurisdiction_test

import (
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
)

// long is a text of several windows with a value in every line.
func long(lines int) string {
	var b strings.Builder
	for range lines {
		b.WriteString("— the committee, meeting at noon, wrote NIN 12345678901 into its minutes and asked a.b@example.com in Lagos for £5\n")
	}
	return b.String()
}

func TestDetectStreamIsDetect(t *testing.T) {
	doc := long(6000)
	want, err := jurisdiction.Detect(doc, "NG", "", "")
	if err != nil {
		t.Fatal(err)
	}
	starts := map[int]int{} // per start, how many
	for _, d := range want.Detections {
		starts[d.Start]++
	}
	n, last := 0, 0
	plan, err := jurisdiction.DetectStream(t.Context(), iotest.HalfReader(strings.NewReader(doc)), "NG", "", "", func(l jurisdiction.Located) error {
		n++
		starts[l.Start]--
		if l.Start < last || l.End <= l.Start {
			t.Fatalf("[%d, %d) after %d", l.Start, l.End, last)
		}
		last = l.Start
		if n%500 == 0 {
			before := doc[:byteOf(doc, l.Start)]
			line, column := 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
			if line != l.Line || column != l.Column {
				t.Fatalf("at %d: line %d column %d, want %d and %d", l.Start, l.Line, l.Column, line, column)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != want.Count {
		t.Errorf("%d detections, want %d", n, want.Count)
	}
	for start, left := range starts {
		if left != 0 {
			t.Errorf("at %d: %d more or less", start, left)
		}
	}
	if diff := cmp.Diff(want.Coverage, plan, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
}

// byteOf is the byte of a code point, reckoned from the line's fixed length.
func byteOf(doc string, at int) int {
	line := strings.IndexByte(doc, '\n') + 1
	runes := utf8.RuneCountInString(doc[:line])
	i := at / runes * line
	for at %= runes; at > 0; at-- {
		_, n := utf8.DecodeRuneInString(doc[i:])
		i += n
	}
	return i
}

func TestInferStreamIsInfer(t *testing.T) {
	for _, doc := range []string{"", "NIN", long(5000), strings.Repeat("x", 600_000) + " NIN HMRC"} {
		want := jurisdiction.Infer(doc)
		got, err := jurisdiction.InferStream(t.Context(), strings.NewReader(doc), "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", len(doc), diff)
		}
	}
}

func TestStreamsRefuseWhatIsNotText(t *testing.T) {
	_, err := jurisdiction.InferStream(t.Context(), strings.NewReader("ab\xffcd"), "")
	if f := fault.As(err); f == nil || !strings.Contains(f.Message, "byte 2") {
		t.Errorf("got %v", err)
	}
	if _, err := jurisdiction.DetectStream(t.Context(), strings.NewReader("x"), "NG", "nope", "", nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown statute: %v", err)
	}
}
