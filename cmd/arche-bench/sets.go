package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// labelled is one task on a public labelled set: which folder it reads and what
// a row becomes for each backend.
type labelled struct {
	name, folder, entity string
	comparators          []*canon.Object // in place of an entity
	record               func(row map[string]string) *canon.Object
	trained              func(row map[string]string) *canon.Object // nil: as record
}

func joined(row map[string]string, fields ...string) string {
	var out []string
	for _, f := range fields {
		if row[f] != "" {
			out = append(out, row[f])
		}
	}
	return strings.Join(out, " ")
}

func picked(row map[string]string, fields ...string) *canon.Object {
	o := canon.Obj("id", row["id"])
	for _, f := range fields {
		o.Set(f, row[f])
	}
	return o
}

var febrlAddress = []string{"street_number", "address_1", "address_2", "suburb", "postcode", "state"}

// labelledSets are the tasks, each with the same columns that every system of
// docs/benchmarks.md was given: persons without their national id, and in parts
// for trained models.
var labelledSets = []labelled{
	{
		name: "febrl4", folder: "febrl4", entity: "person",
		record: func(r map[string]string) *canon.Object {
			return canon.Obj("id", r["id"], "name", joined(r, "given_name", "surname"), "address", joined(r, febrlAddress...), "birth_date", r["birth_date"])
		},
		trained: func(r map[string]string) *canon.Object {
			return picked(r, append([]string{"given_name", "surname", "birth_date"}, febrlAddress...)...)
		},
	},
	{
		name: "febrl4_na", folder: "febrl4", entity: "person",
		record: func(r map[string]string) *canon.Object {
			return canon.Obj("id", r["id"], "name", joined(r, "given_name", "surname"), "address", joined(r, febrlAddress...))
		},
		trained: func(r map[string]string) *canon.Object {
			return picked(r, append([]string{"given_name", "surname"}, febrlAddress...)...)
		},
	},
	{
		name: "dblp_acm", folder: "dblp_acm",
		comparators: []*canon.Object{
			canon.Obj("field", "title", "kind", "name", "weight", canon.Number("3.0")),
			canon.Obj("field", "title", "kind", "tftoken", "weight", canon.Number("2.0")),
			canon.Obj("field", "authors", "kind", "name", "weight", canon.Number("2.0")),
			canon.Obj("field", "year", "kind", "date", "weight", canon.Number("0.5"), "refutes_below", canon.Number("0.99")),
		},
		record: func(r map[string]string) *canon.Object { return picked(r, "title", "authors", "year") },
	},
	{
		name: "abt_buy", folder: "abt_buy", entity: "product_electronics",
		record: func(r map[string]string) *canon.Object { return picked(r, "name") },
	},
	{
		name: "amazon_google", folder: "amazon_google", entity: "product_electronics",
		record: func(r map[string]string) *canon.Object {
			return canon.Obj("id", r["id"], "name", joined(r, "manufacturer", "title"))
		},
	},
	{
		name: "fodors_zagats", folder: "fodors_zagats", entity: "organisation",
		record: func(r map[string]string) *canon.Object {
			return canon.Obj("id", r["id"], "name", r["name"], "address", joined(r, "addr", "city"))
		},
	},
	{
		name: "chicago_childcare", folder: "chicago_childcare", entity: "organisation",
		record: func(r map[string]string) *canon.Object { return picked(r, "name", "address") },
	},
}

// read loads the set for one backend.
func (s *labelled) read(root, backend string) (*lists, error) {
	make := s.record
	if backend != "" && s.trained != nil {
		make = s.trained
	}
	out := &lists{}
	for _, side := range []struct {
		file string
		to   *[]*canon.Object
	}{{"a.csv", &out.a}, {"b.csv", &out.b}} {
		err := eachRow(filepath.Join(root, s.folder, side.file), func(row map[string]string) {
			*side.to = append(*side.to, make(row))
		})
		if err != nil {
			return nil, err
		}
	}
	return out, eachRow(filepath.Join(root, s.folder, "truth.csv"), func(row map[string]string) {
		out.truth = append(out.truth, [2]string{row["a_id"], row["b_id"]})
	})
}

// eachRow reads a CSV file with a heading.
func eachRow(path string, found func(map[string]string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for {
		values, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		row := make(map[string]string, len(head))
		for i, h := range head {
			row[h] = values[i]
		}
		found(row)
	}
}
