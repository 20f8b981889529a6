package splink

import (
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// names says how an expression of a model names a column.
type names int

const (
	pairNames names = iota // "column_l", "column_r"
	ruleNames              // l."column", r."column"
)

// allowedWords are the functions, operators and types that a model may use:
// what compares texts, numbers, dates and lists, and nothing that reads, writes
// or loops.
var allowedWords = func() map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(`
		and or not is null case when then else end as between in like true false
		varchar double float float8 integer int bigint date timestamp
		jaro_winkler_similarity jaro_similarity jaccard levenshtein damerau_levenshtein hamming
		substr substring left right lower upper trim ltrim rtrim length len contains starts_with prefix suffix reverse
		abs round floor ceil least greatest coalesce nullif ifnull cast try_cast
		strptime try_strptime strftime epoch date_diff datediff year month day
		list_sort list_distinct list_intersect list_has_any list_has_all list_contains list_slice array_length array_intersect
		string_split str_split split_part regexp_extract regexp_matches concat
		radians sin cos tan acos asin atan atan2 sqrt pow power exp ln log2`) {
		out[w] = true
	}
	return out
}()

// identifier is a column that an expression mentions.
type identifier struct {
	side string // l or r
	name string
}

const maxExpression = 8192

// checkExpression refuses text that is not a plain expression over columns.
func checkExpression(sql string, n names) error {
	_, err := readExpression(sql, n)
	return err
}

// readExpression returns the columns an expression mentions.
func readExpression(sql string, n names) ([]identifier, error) {
	if sql == "" || len(sql) > maxExpression {
		return nil, fault.New(fault.Invalid, "an expression of the model has %d characters; accepted: 1 to %d", len(sql), maxExpression)
	}
	s := &lexer{sql: sql, names: n}
	for s.at < len(sql) {
		if err := s.token(); err != nil {
			return nil, err
		}
	}
	return s.found, nil
}

type lexer struct {
	sql   string
	at    int
	names names
	found []identifier
}

func (s *lexer) refuse(what string) error {
	return fault.New(fault.Invalid, "an expression of the model uses %s, which is not accepted", what).
		WithHint("accepted: columns of the pair, literals, operators and functions that compare text, numbers, dates and lists")
}

func (s *lexer) token() error {
	c := s.sql[s.at]
	switch {
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		s.at++
	case c == '\'':
		return s.literal()
	case c == '"':
		name, err := s.quoted()
		if err != nil {
			return err
		}
		return s.column(name)
	case isWordByte(c) && (c < '0' || c > '9'):
		return s.word()
	case c >= '0' && c <= '9':
		for s.at < len(s.sql) && (isWordByte(s.sql[s.at]) || s.sql[s.at] == '.') {
			s.at++
		}
	case strings.HasPrefix(s.sql[s.at:], "--"), strings.HasPrefix(s.sql[s.at:], "/*"):
		return s.refuse("a comment")
	case strings.IndexByte("=<>!+-*/%|()[],.:", c) >= 0:
		s.at++
	default:
		return s.refuse("the character " + canon.Repr(string(rune(c))))
	}
	return nil
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (s *lexer) literal() error {
	for s.at++; s.at < len(s.sql); s.at++ {
		if s.sql[s.at] != '\'' {
			continue
		}
		if s.at+1 < len(s.sql) && s.sql[s.at+1] == '\'' {
			s.at++
			continue
		}
		s.at++
		return nil
	}
	return s.refuse("a text without an end")
}

func (s *lexer) quoted() (string, error) {
	var b strings.Builder
	for s.at++; s.at < len(s.sql); s.at++ {
		if s.sql[s.at] != '"' {
			b.WriteByte(s.sql[s.at])
			continue
		}
		if s.at+1 < len(s.sql) && s.sql[s.at+1] == '"' {
			b.WriteByte('"')
			s.at++
			continue
		}
		s.at++
		return b.String(), nil
	}
	return "", s.refuse("a name without an end")
}

func (s *lexer) word() error {
	start := s.at
	for s.at < len(s.sql) && isWordByte(s.sql[s.at]) {
		s.at++
	}
	w := s.sql[start:s.at]
	if s.names == ruleNames && (w == "l" || w == "r") && s.at < len(s.sql) && s.sql[s.at] == '.' {
		return s.member(w)
	}
	if allowedWords[strings.ToLower(w)] {
		return nil
	}
	if s.names == pairNames && (strings.HasSuffix(w, "_l") || strings.HasSuffix(w, "_r")) && !s.called() {
		return s.column(w)
	}
	return s.refuse("the word " + canon.Repr(w))
}

// called reports whether what was just read is followed by an opening bracket.
func (s *lexer) called() bool {
	return strings.HasPrefix(strings.TrimLeft(s.sql[s.at:], " \n\t\r"), "(")
}

// member reads the column after "l." or "r.".
func (s *lexer) member(side string) error {
	s.at++
	name := ""
	if s.at < len(s.sql) && s.sql[s.at] == '"' {
		var err error
		if name, err = s.quoted(); err != nil {
			return err
		}
	} else {
		start := s.at
		for s.at < len(s.sql) && isWordByte(s.sql[s.at]) {
			s.at++
		}
		name = s.sql[start:s.at]
	}
	if name == "" || s.called() {
		return s.refuse("a name that is no column")
	}
	s.found = append(s.found, identifier{side, name})
	return nil
}

// column notes a column of a pair; in a rule a bare column has no side.
func (s *lexer) column(name string) error {
	side, base := "", ""
	switch {
	case strings.HasSuffix(name, "_l"):
		side, base = "l", strings.TrimSuffix(name, "_l")
	case strings.HasSuffix(name, "_r"):
		side, base = "r", strings.TrimSuffix(name, "_r")
	}
	if s.names != pairNames || base == "" || s.called() {
		return s.refuse("the name " + canon.Repr(name))
	}
	s.found = append(s.found, identifier{side, base})
	return nil
}

// columnsOfModel settles which fields a given model reads and in what form.
func (r *runner) columnsOfModel() error {
	if r.in.Model.Dedupe != r.in.Dedupe {
		return fault.New(fault.Invalid, "the model was made to %s, and this call does the other",
			map[bool]string{true: "find duplicates in one list", false: "link two lists"}[r.in.Model.Dedupe])
	}
	add := func(sql string, n names) error {
		if sql == elseCondition {
			return nil
		}
		found, err := readExpression(sql, n)
		if err != nil {
			return err
		}
		for _, id := range found {
			if err := r.checkName(id.name); err != nil {
				return err
			}
			if !slices.Contains(r.texts, id.name) && !slices.Contains(r.reals, id.name) {
				if n == pairNames && strings.Contains(sql, "radians(") {
					r.reals = append(r.reals, id.name)
				} else {
					r.texts = append(r.texts, id.name)
				}
			}
		}
		return nil
	}
	// Distances first: what takes part in one is a number everywhere.
	for _, distance := range []bool{true, false} {
		for _, c := range r.in.Model.Comparisons {
			isDistance := slices.ContainsFunc(c.Levels, func(l Level) bool { return strings.Contains(l.Condition, "radians(") })
			if isDistance != distance {
				continue
			}
			levels := slices.Clone(c.Levels)
			// The null level names the columns without a function.
			slices.SortStableFunc(levels, func(x, y Level) int {
				return strings.Count(y.Condition, "radians(") - strings.Count(x.Condition, "radians(")
			})
			for _, l := range levels {
				if err := add(l.Condition, pairNames); err != nil {
					return err
				}
			}
		}
	}
	for _, rule := range r.in.Model.Rules {
		if err := add(rule.SQL, ruleNames); err != nil {
			return err
		}
	}
	for _, c := range r.in.Model.Comparisons {
		for _, l := range c.Levels {
			if l.TF != "" && !slices.Contains(r.texts, l.TF) {
				return fault.New(fault.Invalid, "the model adjusts for the frequency of %s, which none of its conditions compares as text", canon.Repr(l.TF))
			}
		}
	}
	for _, f := range r.texts {
		r.columns = append(r.columns, column{field: f, shape: r.shapeOf(f)})
	}
	return nil
}

// checkName refuses column names that the database would take for another's: it
// does not tell capitals from small letters.
func (r *runner) checkName(name string) error {
	if strings.EqualFold(quote(name), rowColumn) {
		return fault.New(fault.Invalid, "the model reads a column %s, which is a name of ours", canon.Repr(name))
	}
	for _, other := range append(slices.Clone(r.texts), r.reals...) {
		if other != name && strings.EqualFold(other, name) {
			return fault.New(fault.Invalid, "the model reads columns %s and %s, which differ in capitals only", canon.Repr(other), canon.Repr(name))
		}
	}
	return nil
}

// shapeOf says in what form a field of a given model is compared.
func (r *runner) shapeOf(field string) shape {
	for _, c := range r.in.Comparators {
		if s, ok := kindShapes[c.Kind]; ok && c.Field == field {
			return s
		}
	}
	for _, p := range parts {
		if p.field == field {
			return p.shape
		}
	}
	return shapeExact
}
