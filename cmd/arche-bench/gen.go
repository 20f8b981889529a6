package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/canon"
)

// runGen writes the synthetic lists to files.
func runGen(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	entity := flags.String("entity", "organisation", "organisation or person (n records a list, JSON), or scale (n rows in both tables, CSV)")
	n := flags.Int("n", 1000, "number of records")
	out := flags.String("out", ".", "folder to write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	if *entity == "scale" {
		return genScale(*n, *out)
	}
	l, err := generate(*entity, *n)
	if err != nil {
		return err
	}
	truth := make([]any, len(l.truth))
	for i, p := range l.truth {
		truth[i] = []any{p[0], p[1]}
	}
	for name, list := range map[string][]any{"a": records(l.a), "b": records(l.b), "truth": truth} {
		if err := writeSpaced(filepath.Join(*out, name+".json"), list); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "wrote a.json, b.json and truth.json to %s\n", *out)
	return nil
}

func records(list []*canon.Object) []any {
	out := make([]any, len(list))
	for i, r := range list {
		out[i] = r
	}
	return out
}

func genScale(n int, out string) (err error) {
	var files [3]*os.File
	for k, name := range []string{"a.csv", "b.csv", "truth.csv"} {
		if files[k], err = os.Create(filepath.Join(out, name)); err != nil {
			return err
		}
		defer func() {
			if cerr := files[k].Close(); err == nil {
				err = cerr
			}
		}()
	}
	return newCrowd().writeCSV(n, files[0], files[1], files[2])
}

// writeSpaced writes JSON with a space after commas and colons, the form of the
// reference's files.
func writeSpaced(path string, list []any) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	b, err := spaced(nil, list)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return err
}

// spaced appends a value with the keys in their own order.
func spaced(b []byte, v any) ([]byte, error) {
	var err error
	switch x := v.(type) {
	case []any:
		b = append(b, '[')
		for i, e := range x {
			if i > 0 {
				b = append(b, ", "...)
			}
			if b, err = spaced(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case *canon.Object:
		b = append(b, '{')
		first := true
		for k, e := range x.All() {
			if !first {
				b = append(b, ", "...)
			}
			first = false
			if b, err = spaced(b, k); err != nil {
				return nil, err
			}
			if b, err = spaced(append(b, ": "...), e); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	c, err := canon.Compact(v)
	return append(b, c...), err
}
