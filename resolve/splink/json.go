package splink

import (
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// UniqueID is the name of the id column in a saved model: a table for Splink
// needs one under this name.
const UniqueID = "unique_id"

// JSON writes the model as settings of the Splink package, versions 4 and 5. The
// same model gives the same bytes.
func (m *Model) JSON() ([]byte, error) {
	linkType := "link_only"
	if m.Dedupe {
		linkType = "dedupe_only"
	}
	rules := make([]any, len(m.Rules))
	for i, r := range m.Rules {
		rules[i] = canon.Obj("blocking_rule", r.SQL, "sql_dialect", "duckdb")
	}
	comparisons := make([]any, len(m.Comparisons))
	for i, c := range m.Comparisons {
		levels := make([]any, len(c.Levels))
		for k, l := range c.Levels {
			levels[k] = l.object()
		}
		comparisons[i] = canon.Obj("output_column_name", c.Name, "comparison_levels", levels, "comparison_description", c.Name)
	}
	return canon.Indent(canon.Obj(
		"link_type", linkType,
		"probability_two_random_records_match", canon.Float(m.Lambda),
		"retain_matching_columns", false,
		"retain_intermediate_calculation_columns", false,
		"additional_columns_to_retain", []any{},
		"sql_dialect", "duckdb",
		"em_convergence", canon.Float(0.0001),
		"max_iterations", 25,
		"bayes_factor_column_prefix", "bf_",
		"term_frequency_adjustment_column_prefix", "tf_",
		"comparison_vector_value_column_prefix", "gamma_",
		"unique_id_column_name", UniqueID,
		"source_dataset_column_name", "source_dataset",
		"blocking_rules_to_generate_predictions", rules,
		"comparisons", comparisons,
	))
}

func (l Level) object() *canon.Object {
	o := canon.Obj("sql_condition", l.Condition, "label_for_charts", l.Label)
	if l.Null {
		o.Set("is_null_level", true)
		return o
	}
	o.Set("m_probability", canon.Float(max(l.M, floorProbability)))
	o.Set("u_probability", canon.Float(max(l.U, floorProbability)))
	if l.TF != "" {
		o.Set("tf_adjustment_column", l.TF)
		o.Set("tf_adjustment_weight", canon.Float(l.TFWeight))
		if l.TFMinimum > 0 {
			o.Set("tf_minimum_u_value", canon.Float(l.TFMinimum))
		}
	}
	return o
}

// Bounds of a model that is read.
const (
	maxModelBytes       = 4 << 20
	maxModelComparisons = 64
	maxModelLevels      = 64
	maxModelRules       = 64
)

// ReadModel reads settings that JSON or the Splink package wrote. Conditions
// and rules may only compare columns, with functions that do nothing else; a
// model that would run anything beyond that is refused.
func ReadModel(data []byte) (*Model, error) {
	if len(data) > maxModelBytes {
		return nil, fault.New(fault.Limit, "the model has more than %d bytes", maxModelBytes)
	}
	o, err := canon.ParseObject(data, canon.Limits{Depth: 16})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the model is not a settings document: %v", err).
			WithHint("pass the file that --save-model or Splink's save_model_to_json wrote")
	}
	m := &Model{}
	switch t := o.Value("link_type"); t {
	case "link_only":
	case "dedupe_only":
		m.Dedupe = true
	default:
		return nil, fault.New(fault.Invalid, "the model's link_type is %s; accepted: 'link_only', 'dedupe_only'", canon.Repr(t))
	}
	if m.Lambda, err = readProbability(o, "probability_two_random_records_match", "the model"); err != nil {
		return nil, err
	}
	m.Lambda = min(max(m.Lambda, floorProbability), 1-floorProbability)
	if err := m.readRules(o); err != nil {
		return nil, err
	}
	return m, m.readComparisons(o)
}

func (m *Model) readRules(o *canon.Object) error {
	list, _ := o.Value("blocking_rules_to_generate_predictions").([]any)
	if len(list) == 0 || len(list) > maxModelRules {
		return fault.New(fault.Invalid, "the model has %d blocking rules; accepted: 1 to %d", len(list), maxModelRules)
	}
	for _, item := range list {
		sql, _ := item.(string)
		if rule, ok := item.(*canon.Object); ok {
			sql, _ = rule.Value("blocking_rule").(string)
			if rule.Value("arrays_to_explode") != nil {
				return fault.New(fault.Invalid, "the model has a blocking rule that unfolds arrays, which is not supported")
			}
		}
		if err := checkExpression(sql, ruleNames); err != nil {
			return err
		}
		m.Rules = append(m.Rules, Rule{SQL: sql, Label: sql})
	}
	return nil
}

func (m *Model) readComparisons(o *canon.Object) error {
	list, _ := o.Value("comparisons").([]any)
	if len(list) == 0 || len(list) > maxModelComparisons {
		return fault.New(fault.Invalid, "the model has %d comparisons; accepted: 1 to %d", len(list), maxModelComparisons)
	}
	for _, item := range list {
		c, _ := item.(*canon.Object)
		name, _ := c.Value("output_column_name").(string)
		levels, _ := c.Value("comparison_levels").([]any)
		if name == "" || len(levels) < 2 || len(levels) > maxModelLevels {
			return fault.New(fault.Invalid, "a comparison of the model needs a name and 2 to %d levels", maxModelLevels)
		}
		cmp := Comparison{Name: name}
		for i, l := range levels {
			o, _ := l.(*canon.Object)
			level, err := readLevel(o, name)
			if err != nil {
				return err
			}
			if (level.Condition == elseCondition) != (i == len(levels)-1) {
				return fault.New(fault.Invalid, "the levels of comparison %s of the model must end with ELSE, and only there", canon.Repr(name))
			}
			cmp.Levels = append(cmp.Levels, level)
		}
		m.Comparisons = append(m.Comparisons, cmp)
	}
	return nil
}

func readLevel(o *canon.Object, comparison string) (Level, error) {
	l := Level{TFWeight: 1}
	l.Condition, _ = o.Value("sql_condition").(string)
	l.Label, _ = o.Value("label_for_charts").(string)
	l.Null, _ = o.Value("is_null_level").(bool)
	if strings.EqualFold(strings.TrimSpace(l.Condition), elseCondition) {
		l.Condition = elseCondition
	} else if err := checkExpression(l.Condition, pairNames); err != nil {
		return l, err
	}
	if l.Null {
		return l, nil
	}
	where := "comparison " + canon.Repr(comparison) + " of the model"
	if o.Value("m_probability") == nil || o.Value("u_probability") == nil {
		l.M, l.U = 1, 1 // a level training never saw: no evidence either way
		return l, nil
	}
	var err error
	if l.M, err = readProbability(o, "m_probability", where); err != nil {
		return l, err
	}
	if l.U, err = readProbability(o, "u_probability", where); err != nil {
		return l, err
	}
	l.TF, _ = o.Value("tf_adjustment_column").(string)
	if v, ok := o.Value("tf_adjustment_weight").(canon.Number); ok {
		l.TFWeight = v.Float()
	}
	if v, ok := o.Value("tf_minimum_u_value").(canon.Number); ok {
		l.TFMinimum = v.Float()
	}
	if !(l.TFWeight >= 0 && l.TFWeight <= 1 && l.TFMinimum >= 0 && l.TFMinimum <= 1) {
		return l, fault.New(fault.Invalid, "%s has a frequency adjustment outside 0 to 1", where)
	}
	return l, nil
}

func readProbability(o *canon.Object, key, where string) (float64, error) {
	n, ok := o.Value(key).(canon.Number)
	if p := n.Float(); ok && p >= 0 && p <= 1 {
		return p, nil
	}
	return 0, fault.New(fault.Invalid, "%s has no %s between 0 and 1", where, key)
}
