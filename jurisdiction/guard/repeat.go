package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// known holds the values of one text that were replaced, so that each goes
// wherever it stands: a number found beside its cue may be written again
// without it.
type known struct {
	byWord map[string][]repeat // by the first word of the value
	size   int
	done   map[standIn]repeat // what was made before
	most   int                // remembered of either
}

// standIn is what a token depends on, with what else its field says.
type standIn struct{ category, action, value, canonical string }

// repeat is a value and what stands in for it.
type repeat struct {
	value   string
	literal string
	field   Field
}

// What is remembered of a text that is held, and of a stream.
const (
	mostHeld   = 1 << 20
	mostStream = 16 << 10
)

// substitute is Guard.substitute, made once for each value.
func (k *known) substitute(g *Guard, r region, value string) (string, *Field) {
	key := standIn{r.category, r.action, value, r.canonical}
	whole := r.width == len(value) && r.width == r.end-r.start
	if s, ok := k.done[key]; ok && whole {
		field := s.field
		return s.literal, &field
	}
	literal, field := g.substitute(r, value)
	if len(k.done) >= k.most {
		return literal, field
	}
	value = strings.Clone(value) // the text it is cut from must not stay
	k.add(value, literal, field)
	if whole {
		if k.done == nil {
			k.done = map[standIn]repeat{}
		}
		key.value, key.canonical = value, strings.Clone(r.canonical)
		k.done[key] = repeat{literal: literal, field: *field}
	}
	return literal, field
}

// add remembers a value that could only be itself: an identifier, an account,
// a way to reach somebody, with enough letters and digits to be no word.
func (k *known) add(value, literal string, f *Field) {
	if k.size >= k.most || !telling(f.Category, value) {
		return
	}
	if k.byWord == nil {
		k.byWord = map[string][]repeat{}
	}
	start := strings.IndexFunc(value, worthHiding)
	word := value[start:wordEnd(value, start)]
	for _, r := range k.byWord[word] {
		if r.value == value[start:] {
			return
		}
	}
	k.byWord[word] = append(k.byWord[word], repeat{value[start:], literal, *f})
	k.size++
}

func telling(category, value string) bool {
	if !strings.HasPrefix(category, "PII-2-") && !strings.HasPrefix(category, "PII-3-") && !strings.HasPrefix(category, "PII-5-") {
		return false
	}
	n, digit := 0, strings.Contains(value, "@")
	for _, r := range value {
		if worthHiding(r) {
			n++
		}
		digit = digit || unicode.IsDigit(r)
	}
	return n >= 7 && digit
}

// wordEnd returns where the run of letters and numbers at byte i ends.
func wordEnd(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !worthHiding(r) {
			break
		}
		i += n
	}
	return i
}

// regions returns where known values still stand in clear, whole words only.
func (k *known) regions(view string) []region {
	if k.size == 0 {
		return nil
	}
	var out []region
	for i := 0; i < len(view); {
		r, n := utf8.DecodeRuneInString(view[i:])
		if !worthHiding(r) {
			i += n
			continue
		}
		end := wordEnd(view, i)
		for _, v := range k.byWord[view[i:end]] {
			stop := i + len(v.value)
			if !strings.HasPrefix(view[i:], v.value) {
				continue
			}
			if after, _ := utf8.DecodeRuneInString(view[stop:]); stop < len(view) && worthHiding(after) {
				continue
			}
			out = append(out, region{start: i, end: stop, repeat: &v})
			end = stop
			break
		}
		i = end
	}
	return out
}
