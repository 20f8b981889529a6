package splink

import (
	"fmt"
	"strings"
)

// Level is one way in which two values may agree. The first level of a
// comparison whose condition holds is the pair's.
type Level struct {
	Condition string // SQL over "column_l" and "column_r"; ELSE for the last
	Label     string
	Null      bool    // says nothing: carries no weight
	M, U      float64 // probability of the level among matches and among non-matches
	TF        string  // column whose value frequencies refine the level; "" for none
	TFWeight  float64
	TFMinimum float64
}

// Comparison compares one column, or several.
type Comparison struct {
	Name   string // output column
	Levels []Level
}

const elseCondition = "ELSE"

// quote writes an SQL identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// comparisonOf derives the levels of a column. partner is the other part of the
// name, for values entered in each other's place; "" when there is none.
func comparisonOf(c column, partner string) Comparison {
	l, r := quote(c.field+"_l"), quote(c.field+"_r")
	cmp := Comparison{Name: c.name()}
	add := func(label, condition string) {
		cmp.Levels = append(cmp.Levels, Level{Label: label, Condition: condition})
	}
	exact := func(tf bool) {
		add("equal", l+" = "+r)
		if tf {
			last := &cmp.Levels[len(cmp.Levels)-1]
			last.TF, last.TFWeight = c.field, 1
		}
	}
	atLeast := func(x string) {
		add("Jaro-Winkler at least "+x, fmt.Sprintf("jaro_winkler_similarity(%s, %s) >= %s", l, r, x))
	}
	// A swap of neighbours is one edit in codes and dates. The plain distance,
	// at most twice as large, is far cheaper and goes first.
	edits := func(n int) {
		add(fmt.Sprintf("at most %d edits", n), fmt.Sprintf("levenshtein(%[1]s, %[2]s) <= %[3]d AND damerau_levenshtein(%[1]s, %[2]s) <= %[4]d", l, r, 2*n, n))
	}
	changes := func(n int) {
		add(fmt.Sprintf("at most %d changes", n), fmt.Sprintf("levenshtein(%s, %s) <= %d", l, r, n))
	}
	overlap := func(x string) { add("at least "+x+" of the shorter's words shared", wordOverlap(l, r)+" >= "+x) }

	cmp.Levels = append(cmp.Levels, Level{Label: "missing", Condition: fmt.Sprintf("%s IS NULL OR %s IS NULL", l, r), Null: true})
	switch c.shape {
	case shapeName:
		exact(true)
		add("the same words", fmt.Sprintf("list_sort(string_split(%s, ' ')) = list_sort(string_split(%s, ' '))", l, r))
		atLeast("0.92")
		overlap("0.66")
		atLeast("0.88")
		overlap("0.5")
		atLeast("0.7")
	case shapeNamePart:
		exact(true)
		if partner != "" {
			add("equal to "+partner, fmt.Sprintf("%s = %s AND %s = %s", l, quote(partner+"_r"), r, quote(partner+"_l")))
		}
		atLeast("0.92")
		atLeast("0.88")
		atLeast("0.7")
	case shapeDate:
		exact(false)
		edits(1)
		edits(2)
		add("the same year", fmt.Sprintf("substr(%s, 1, 4) = substr(%s, 1, 4)", l, r))
	case shapeID:
		exact(false)
		edits(1)
		edits(2)
	case shapeExact, shapePhone:
		exact(true)
	case shapeCode, shapeNumber:
		exact(true)
		edits(1)
	case shapeText:
		exact(true)
		changes(2)
		changes(4)
	case shapeAddress:
		exact(true)
		overlap("0.8")
		overlap("0.6")
		overlap("0.4")
	case shapeDistance:
		cmp.Levels = distanceLevels(c)
	}
	add("anything else", elseCondition)
	return cmp
}

// localityOf derives the levels of several columns that follow from one another:
// all the narrow ones equal, one of them, one nearly, a wide one.
func localityOf(cols []column) Comparison {
	var names, missing, narrow, near, wide []string
	tf := ""
	for _, c := range cols {
		names = append(names, c.field)
		l, r := quote(c.field+"_l"), quote(c.field+"_r")
		missing = append(missing, fmt.Sprintf("(%s IS NULL OR %s IS NULL)", l, r))
		if localities[c.field] {
			wide = append(wide, l+" = "+r)
			continue
		}
		narrow = append(narrow, l+" = "+r)
		if tf == "" || c.shape == shapeCode {
			tf = c.field
		}
		if c.shape == shapeCode {
			near = append(near, fmt.Sprintf("(levenshtein(%[1]s, %[2]s) <= 2 AND damerau_levenshtein(%[1]s, %[2]s) <= 1)", l, r))
		} else {
			near = append(near, fmt.Sprintf("levenshtein(%s, %s) <= 2", l, r))
		}
	}
	if len(narrow) == 0 {
		narrow, wide = wide, nil
	}
	cmp := Comparison{Name: strings.Join(names, "_")}
	cmp.Levels = []Level{
		{Label: "missing", Condition: strings.Join(missing, " AND "), Null: true},
		{Label: "equal", Condition: strings.Join(narrow, " AND ")},
	}
	if len(narrow) == 1 && tf != "" {
		// Splink refines a level by one column's frequencies only where the
		// level is that column's equality.
		cmp.Levels[1].TF, cmp.Levels[1].TFWeight = tf, 1
	}
	add := func(label string, any []string) {
		if len(any) > 0 {
			cmp.Levels = append(cmp.Levels, Level{Label: label, Condition: strings.Join(any, " OR ")})
		}
	}
	if len(narrow) > 1 {
		add("one of them equal", narrow)
	}
	add("one of them nearly equal", near)
	add("the wider area equal", wide)
	cmp.Levels = append(cmp.Levels, Level{Label: "anything else", Condition: elseCondition})
	return cmp
}

// wordOverlap is the share of the shorter text's distinct words that both hold.
func wordOverlap(l, r string) string {
	return fmt.Sprintf("len(list_intersect(string_split(%[1]s, ' '), string_split(%[2]s, ' '))) / least(len(list_distinct(string_split(%[1]s, ' '))), len(list_distinct(string_split(%[2]s, ' '))))", l, r)
}

func distanceLevels(c column) []Level {
	latL, latR := quote(c.field+"_l"), quote(c.field+"_r")
	lonL, lonR := quote(c.lon+"_l"), quote(c.lon+"_r")
	km := fmt.Sprintf("2 * 6371.0088 * asin(sqrt(least(1, pow(sin(radians(%[2]s - %[1]s) / 2), 2) + cos(radians(%[1]s)) * cos(radians(%[2]s)) * pow(sin(radians(%[4]s - %[3]s) / 2), 2))))", latL, latR, lonL, lonR)
	out := []Level{{
		Label: "missing", Null: true,
		Condition: fmt.Sprintf("%s IS NULL OR %s IS NULL OR %s IS NULL OR %s IS NULL", latL, latR, lonL, lonR),
	}}
	for _, limit := range []string{"0.5", "2", "10", "50"} {
		out = append(out, Level{Label: "within " + limit + " km", Condition: km + " <= " + limit})
	}
	return out
}

// gamma is the number of a level: -1 for missing, 0 for anything else, more for
// closer agreement.
func (c Comparison) gamma(level int) int {
	if c.Levels[level].Null {
		return -1
	}
	return len(c.Levels) - 1 - level
}

// level is the inverse of gamma; a null level may stand anywhere.
func (c Comparison) level(gamma int) int {
	if gamma < 0 {
		for i, l := range c.Levels {
			if l.Null {
				return i
			}
		}
	}
	return len(c.Levels) - 1 - gamma
}

// caseSQL is the expression that gives the gamma of a pair.
func (c Comparison) caseSQL() string {
	var b strings.Builder
	b.WriteString("CASE")
	for i, l := range c.Levels {
		if l.Condition == elseCondition {
			fmt.Fprintf(&b, " ELSE %d", c.gamma(i))
			continue
		}
		fmt.Fprintf(&b, " WHEN %s THEN %d", l.Condition, c.gamma(i))
	}
	b.WriteString(" END")
	return b.String()
}
