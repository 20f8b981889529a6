package splink

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// threeColumns is a model whose parameters are known.
func threeColumns() *Model {
	m := &Model{Lambda: 0.001}
	for _, c := range []column{{field: "surname", shape: shapeNamePart}, {field: "birth_date", shape: shapeDate}, {field: "email", shape: shapeExact}} {
		m.Comparisons = append(m.Comparisons, comparisonOf(c, ""))
	}
	for n, probabilities := range [][2][]float64{
		{{0.7, 0.1, 0.05, 0.05, 0.1}, {0.002, 0.002, 0.006, 0.09, 0.9}},
		{{0.8, 0.1, 0.02, 0.03, 0.05}, {0.0001, 0.0009, 0.009, 0.01, 0.98}},
		{{0.6, 0.4}, {0.0005, 0.9995}},
	} {
		for i := 1; i < len(m.Comparisons[n].Levels); i++ {
			m.Comparisons[n].Levels[i].M, m.Comparisons[n].Levels[i].U = probabilities[0][i-1], probabilities[1][i-1]
		}
	}
	return m
}

// draw makes comparison vectors of a population that follows the model.
func draw(m *Model, pairs int) ([]vector, population) {
	rnd := rand.New(rand.NewPCG(1, 2))
	counts := make(map[string]*vector)
	pop := population{pairs: float64(pairs), shorter: math.Sqrt(float64(pairs)), exact: []float64{-1, -1, -1}}
	for _, c := range m.Comparisons {
		pop.random = append(pop.random, make([]float64, len(c.Levels)))
	}
	for range pairs {
		match := rnd.Float64() < m.Lambda
		gamma := make([]int8, len(m.Comparisons))
		agreed := 0
		for n, c := range m.Comparisons {
			x := rnd.Float64()
			for i := 1; i < len(c.Levels); i++ {
				p := c.Levels[i].U
				if match {
					p = c.Levels[i].M
				}
				if x -= p; x < 0 || i == len(c.Levels)-1 {
					gamma[n] = int8(c.gamma(i))
					break
				}
			}
			pop.random[n][gamma[n]+1]++
			if gamma[n] > 1 {
				agreed++
			}
		}
		if agreed == 0 {
			continue // no rule would propose it
		}
		k := string([]byte{byte(gamma[0]), byte(gamma[1]), byte(gamma[2])})
		if counts[k] == nil {
			counts[k] = &vector{gamma: gamma}
		}
		counts[k].count++
	}
	var out []vector
	for _, v := range counts {
		out = append(out, *v)
	}
	sortVectors(out)
	return out, pop
}

func TestTrainingFindsTheParameters(t *testing.T) {
	truth := threeColumns()
	vectors, pop := draw(truth, 1_000_000)
	m := threeColumns()
	if _, converged := m.train(vectors, pop); !converged {
		t.Error("training did not come to rest")
	}
	if r := m.Lambda / truth.Lambda; r < 0.8 || r > 1.2 {
		t.Errorf("lambda = %v, want about %v", m.Lambda, truth.Lambda)
	}
	for n, c := range m.Comparisons {
		for i := 1; i < len(c.Levels); i++ {
			want := truth.Comparisons[n].Levels[i]
			if math.Abs(c.Levels[i].M-want.M) > 0.05 {
				t.Errorf("%s, %s: m = %v, want about %v", c.Name, c.Levels[i].Label, c.Levels[i].M, want.M)
			}
			if r := c.Levels[i].U / want.U; r < 0.7 || r > 1.4 {
				t.Errorf("%s, %s: u = %v, want about %v", c.Name, c.Levels[i].Label, c.Levels[i].U, want.U)
			}
		}
	}
	again := threeColumns()
	again.train(vectors, pop)
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("training differs from run to run:\n%s", diff)
	}
}

func TestTrainingOnNothing(t *testing.T) {
	m := threeColumns()
	m.train(nil, population{pairs: 2, shorter: 1, random: [][]float64{make([]float64, 6), make([]float64, 6), make([]float64, 3)}, exact: []float64{0, -1, 1}})
	for _, c := range m.Comparisons {
		sum := 0.0
		for _, l := range c.Levels {
			if !l.Null {
				sum += l.M
				if !(l.U > 0 && l.U <= 1) {
					t.Errorf("%s: u = %v", l.Label, l.U)
				}
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the probabilities among matches add up to %v", c.Name, sum)
		}
	}
	if !(m.Lambda > 0 && m.Lambda < 1) {
		t.Errorf("lambda = %v", m.Lambda)
	}
}

func TestProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(1e-12, 1-1e-12).Draw(t, "p")
		if got := probability(floorWeight(p)); math.Abs(got-p) > 1e-12 {
			t.Fatalf("probability of the weight of %v is %v", p, got)
		}
	})
	for _, w := range []float64{-1e9, -2000, 2000, 1e9, 0} {
		if p := probability(w); !(p >= 0 && p <= 1) {
			t.Errorf("probability(%v) = %v", w, p)
		}
	}
}

func TestModelRoundTrip(t *testing.T) {
	m := threeColumns()
	m.Comparisons = append(m.Comparisons, comparisonOf(column{field: "lat", lon: "lon", shape: shapeDistance}, ""), comparisonOf(column{field: `od"d name`, shape: shapeName}, ""),
		comparisonOf(column{field: "address", shape: shapeAddress}, ""), comparisonOf(column{field: "given_name", shape: shapeNamePart}, "surname"))
	for n := range m.Comparisons {
		for i := range m.Comparisons[n].Levels {
			if l := &m.Comparisons[n].Levels[i]; !l.Null && l.M == 0 {
				l.M, l.U = 0.25, 0.125
			}
		}
	}
	var keys []key
	for i, c := range []column{{field: "name", shape: shapeName}, {field: "address", shape: shapeAddress}, {field: "lat", lon: "lon", shape: shapeDistance}} {
		keys = append(keys, keysOf(i, c)...)
	}
	for i := range keys {
		m.Rules = append(m.Rules, rulesOf(keys, []costed{{keys: []int{i}}})...)
	}
	text, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatalf("not JSON: %s", text)
	}
	back, err := ReadModel(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range back.Rules {
		back.Rules[i].Label = m.Rules[i].Label
	}
	for n := range back.Comparisons {
		for i := range back.Comparisons[n].Levels {
			if l := &back.Comparisons[n].Levels[i]; l.TF == "" {
				l.TFWeight = 0
			}
		}
	}
	if diff := cmp.Diff(m, back); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// Settings written by Splink itself: plain rules, bare column names, levels
// without probabilities.
func TestReadModelOfSplink(t *testing.T) {
	m, err := ReadModel([]byte(`{"link_type":"link_only","probability_two_random_records_match":0.01,
		"blocking_rules_to_generate_predictions":["l.surname = r.surname",{"blocking_rule":"SUBSTR(l.\"dob\", 1, 4) = SUBSTR(r.\"dob\", 1, 4)","sql_dialect":"duckdb"}],
		"comparisons":[{"output_column_name":"surname","comparison_levels":[
			{"sql_condition":"surname_l IS NULL OR surname_r IS NULL","is_null_level":true},
			{"sql_condition":"surname_l = surname_r","m_probability":0.9,"u_probability":0.01,"tf_adjustment_column":"surname","tf_minimum_u_value":0.001},
			{"sql_condition":"jaro_winkler_similarity(\"surname_l\", \"surname_r\") >= 0.9"},
			{"sql_condition":"ELSE","m_probability":0.1,"u_probability":0.99}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	levels := m.Comparisons[0].Levels
	if levels[1].TFWeight != 1 || levels[1].TFMinimum != 0.001 || levels[2].weight() != 0 || levels[3].weight() > -3 {
		t.Errorf("levels read as %+v", levels)
	}
	if got := levels[1].adjustment(0.0001); math.Abs(got-math.Log2(10)) > 1e-9 {
		t.Errorf("adjustment of a rare value = %v", got)
	}
}

func TestReadModelRefuses(t *testing.T) {
	good, err := threeColumns().JSON()
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.Replace(string(good), `"blocking_rules_to_generate_predictions": []`, `"blocking_rules_to_generate_predictions": ["l.\"surname\" = r.\"surname\""]`, 1)
	if _, err := ReadModel([]byte(doc)); err != nil {
		t.Fatalf("the model to spoil is not good: %v", err)
	}
	for _, c := range []struct{ old, new string }{
		{`"link_only"`, `"link_and_dedupe"`},
		{`"probability_two_random_records_match": 0.001`, `"probability_two_random_records_match": 1.5`},
		{`"m_probability": 0.7`, `"m_probability": "high"`},
		{`\"surname_l\" = \"surname_r\"`, `\"surname_l\" = (SELECT 1)`},
		{`\"surname_l\" = \"surname_r\"`, `\"surname_l\" = read_text('x')`},
		{`\"surname_l\" = \"surname_r\"`, `true; DROP TABLE a`},
		{`\"surname_l\" = \"surname_r\"`, `true -- `},
		{`\"surname_l\" = \"surname_r\"`, `true /* x */`},
		{`\"surname_l\" = \"surname_r\"`, `\"other\" = 1`},
		{`\"surname_l\" = \"surname_r\"`, `\"read_text_l\"('x') = 1`},
		{`\"surname_l\" = \"surname_r\"`, `'open`},
		{`\"surname_l\" = \"surname_r\"`, `$1`},
		{`l.\"surname\" = r.\"surname\"`, `l.\"surname\" = a.\"surname\"`},
		{`l.\"surname\" = r.\"surname\"`, `l.surname(r.surname)`},
		{`l.\"surname\" = r.\"surname\"`, ``},
		{`"sql_condition": "ELSE"`, `"sql_condition": "true"`},
		{`"tf_adjustment_weight": 1.0`, `"tf_adjustment_weight": 7.0`},
		{`{`, `[`},
	} {
		bad := strings.Replace(doc, c.old, c.new, 1)
		if bad == doc {
			t.Errorf("%s is not in the model", c.old)
		}
		_, err := ReadModel([]byte(bad))
		if f := fault.As(err); f == nil || f.Kind != fault.Invalid {
			t.Errorf("%s for %s: %v, want a refusal", c.new, c.old, err)
		}
	}
}

func FuzzReadModel(f *testing.F) {
	good, err := threeColumns().JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"link_type":"dedupe_only","comparisons":[{"comparison_levels":[{},{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadModel(data)
		if err != nil {
			return
		}
		if len(m.Rules) == 0 || len(m.Comparisons) == 0 || !(m.Lambda > 0 && m.Lambda < 1) {
			t.Fatalf("accepted a model that cannot run: %+v", m)
		}
		if _, err := m.JSON(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzExpression looks for text that passes and is not a plain expression.
func FuzzExpression(f *testing.F) {
	for _, c := range []string{`"a_l" = "a_r"`, `levenshtein("a_l", "a_r") <= 2`, `l."a" = r."b"`, `'it''s' = "x""y_l"`, `(select 1)`} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for _, n := range []names{pairNames, ruleNames} {
			if checkExpression(sql, n) != nil {
				continue
			}
			// What the database would read outside of texts and quoted names.
			plain, quote := []byte{}, byte(0)
			for i := range len(sql) {
				switch c := sql[i]; {
				case quote == 0 && (c == '\'' || c == '"'):
					quote = c
					plain = append(plain, ' ')
				case quote == c:
					quote = 0
				case quote == 0:
					plain = append(plain, c)
				}
			}
			for _, bad := range []string{";", "--", "/*", "$", "\\", "{", "?", "@", "#", "~", "`"} {
				if strings.Contains(string(plain), bad) {
					t.Fatalf("accepted %q", sql)
				}
			}
			for w := range strings.FieldsFuncSeq(strings.ToLower(string(plain)), func(r rune) bool { return r == ' ' || r == '(' || r == ')' || r == ',' }) {
				if slices.Contains([]string{"select", "from", "copy", "attach", "read_csv", "read_text", "glob", "getenv", "range"}, w) {
					t.Fatalf("accepted %q", sql)
				}
			}
			if quote != 0 {
				t.Fatalf("accepted an open quote: %q", sql)
			}
		}
	})
}

func TestColumns(t *testing.T) {
	person := []Comparator{{Kind: "name", Field: "name"}, {Kind: "tftoken", Field: "name"}, {Kind: "date", Field: "birth_date"}, {Kind: "id", Field: "national_id"}, {Kind: "address", Field: "address"}, {Kind: "geo", Lat: "lat", Lon: "lon"}}
	for _, c := range []struct {
		carried, want string
	}{
		{"name birth_date address", "name birth_date address"},
		{"name given_name surname birth_date address suburb postcode", "given_name surname birth_date suburb postcode"},
		{"name surname birth_date dob", "name birth_date"},
		{"name address postcode street", "name postcode street"},
		{"name lat lon", "name lat_lon"},
		{"name lat", "name"},
		{"address suburb", "address"},
		{"colour", ""},
	} {
		fields := strings.Fields(c.carried)
		var got []string
		for _, col := range pickColumns(person, func(f string) bool { return slices.Contains(fields, f) }) {
			got = append(got, col.name())
		}
		slices.Sort(got)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: columns %v, want %v", c.carried, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	rec := canon.Obj("id", canon.Number("12"), "when", "19800102", "odd", "2.1.1980", "iso", "1980-1-2", "tel", "+234 803-555-789", "name", " \u00c9mile  ZOLA ", "none", nil, "lat", canon.Number("6.5"), "lon", " 3.25 ", "bad", "north")
	for _, c := range []struct {
		col  column
		want string
	}{
		{column{field: "id", shape: shapeID}, "12"}, {column{field: "when", shape: shapeDate}, "1980-01-02"}, {column{field: "odd", shape: shapeDate}, "2.1.1980"},
		{column{field: "iso", shape: shapeDate}, "1980-01-02"}, {column{field: "tel", shape: shapePhone}, "803555789"}, {column{field: "name", shape: shapeName}, "emile zola"}, {column{field: "none"}, ""}, {column{field: "absent"}, ""},
	} {
		if got := c.col.value(rec); got != c.want {
			t.Errorf("%s = %q, want %q", c.col.field, got, c.want)
		}
	}
	if lat, lon, bad := coordinate(rec, "lat"), coordinate(rec, "lon"), coordinate(rec, "bad"); lat != 6.5 || lon != 3.25 || bad != nil {
		t.Errorf("coordinates %v, %v, %v", lat, lon, bad)
	}
}
