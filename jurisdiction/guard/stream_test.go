package guard_test

import (
	"bytes"
	"io"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction/guard"
)

// document makes a text of about n bytes with a value here and there.
func document(seed int64, n int) string {
	rnd := rand.New(rand.NewSource(seed))
	values := []string{
		"NIN 12345678901", "0803 555 7890", "+234 803 555 7890", "Grace Mwangi", "a.b@example.com", "10.0.0.1", "card 4111 1111 1111 1111",
		"12 Long Street, Lagos", "[NIN:de11776532b6f1b0]", "Fátima", "📎", "TIN 1234567890", "P.O. Box 12, Lagos, Nigeria",
	}
	words := strings.Fields("the committee met and thanked all for a quick answer then we left it at that which was noted in writing later")
	var b strings.Builder
	for b.Len() < n {
		for range 3 + rnd.Intn(9) {
			b.WriteString(words[rnd.Intn(len(words))] + " ")
		}
		if rnd.Intn(4) == 0 {
			b.WriteString(values[rnd.Intn(len(values))])
		}
		b.WriteString([]string{". ", ".\n", ", ", "\n\n"}[rnd.Intn(4)])
	}
	return b.String()
}

func newGuard(t testing.TB) *guard.Guard {
	t.Helper()
	g, refusal := guard.New(guard.Request{Key: "demo-key", Jurisdiction: "NG"})
	if refusal != nil {
		t.Fatal(refusal.Reason)
	}
	return g
}

func TestCopyIsScan(t *testing.T) {
	g := newGuard(t)
	for seed, size := range []int{0, 10, 300 << 10, 900 << 10} {
		doc := document(int64(seed), size)[:]
		if size == 0 {
			doc = ""
		}
		want := g.Scan(t.Context(), doc)
		var out bytes.Buffer
		var fields []guard.Field
		sum, err := g.Copy(t.Context(), &out, iotest.HalfReader(strings.NewReader(doc)), func(f guard.Field) { fields = append(fields, f) })
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != want.Text {
			t.Errorf("%d bytes: the copy differs from the scan at %d", size, firstDifference(out.String(), want.Text))
		}
		if diff := cmp.Diff(want.Fields, append([]guard.Field{}, fields...)); diff != "" {
			t.Errorf("%d bytes: fields (-want +got):\n%.2000s", size, diff)
		}
		if diff := cmp.Diff(want.Counts(), sum.Counts); diff != "" || sum.Bytes != int64(len(doc)) || sum.Found != want.Found {
			t.Errorf("%d bytes: summary %+v, found %d\n%s", size, sum, want.Found, diff)
		}
	}
}

func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestCopyLongLinesAndValues(t *testing.T) {
	g := newGuard(t)
	for name, doc := range map[string]string{
		"one line of words":     strings.Repeat("word ", 80_000) + "NIN 12345678901",
		"one word":              strings.Repeat("x", 400_000) + " NIN 12345678901",
		"wide characters":       strings.Repeat("é漢", 100_000) + " NIN 12345678901",
		"a value at every cut":  strings.Repeat("call 0803 555 7890 ", 30_000),
		"placeholders all over": strings.Repeat("[NIN:de11776532b6f1b0]", 20_000),
	} {
		var out bytes.Buffer
		if _, err := g.Copy(t.Context(), &out, strings.NewReader(doc), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := g.Scan(t.Context(), doc).Text; out.String() != want {
			t.Errorf("%s: differs at %d", name, firstDifference(out.String(), want))
		}
	}
}

func TestCopyRefuses(t *testing.T) {
	g := newGuard(t)
	for name, c := range map[string]struct {
		src  io.Reader
		says string
	}{
		"not UTF-8": {strings.NewReader(strings.Repeat("a", 300_000) + "\xff"), "not UTF-8 at byte 300000"},
		"zero byte": {strings.NewReader("a\x00b"), "not UTF-8 at byte 1"},
		"bad disk":  {iotest.ErrReader(io.ErrClosedPipe), "fail-closed"},
	} {
		var out bytes.Buffer
		_, err := g.Copy(t.Context(), &out, c.src, nil)
		if f := fault.As(err); f == nil || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
