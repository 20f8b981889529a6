package main

import (
	"io"
	"os"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/resolve"
)

// takeModel prepares a request for the trained backend and reads the model that
// it is to use.
func (f compareFlags) takeModel(req *resolve.Request) error {
	req.OpenScratch = ledger.OpenScratch
	if f.backend != "splink" && (f.saveModel != "" || f.loadModel != "") {
		return usagef("--save-model and --load-model belong to --backend splink")
	}
	if f.loadModel == "" {
		return nil
	}
	data, err := os.ReadFile(f.loadModel)
	if err != nil {
		return fault.Wrap(err, fault.NotFound, "%s cannot be read", f.loadModel)
	}
	req.Model = data
	return nil
}

// saveModel writes the model that decided, when asked to.
func (a *app) saveModel(f compareFlags, result *resolve.Result) error {
	if f.saveModel == "" {
		return nil
	}
	err := export.ReplaceFile(f.saveModel, func(w io.Writer) error {
		_, err := w.Write(append(result.Model, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	a.notef("wrote the model to %s\n", f.saveModel)
	return nil
}
