package main

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is what a disk writes whole.
const sector = 512

// diskFile is the content of a file: what was synced, and what was not.
type diskFile struct {
	length  int64      // as the process sees it
	durable []byte     // what a power cut leaves for sure
	pending []numbered // writes and truncations
}

// powerDisk is a folder of which only what was synced is sure to outlive a power
// cut. It promises no more than POSIX does: syncing a file says nothing of its
// name, and what was not synced is there or not, sector by sector, in any order.
// Names alone come in their order, as journals keep them.
type powerDisk struct {
	names   map[string]*diskFile // durable
	pending []numbered           // changes of names
	done    int                  // operations so far
}

// numbered is an operation and its place among all.
type numbered struct {
	diskOp
	number int
}

func newPowerDisk() *powerDisk { return &powerDisk{names: map[string]*diskFile{}} }

// do does the next operation.
func (d *powerDisk) do(op diskOp) {
	switch op.kind {
	case "create", "rename", "remove":
		d.pending = append(d.pending, numbered{op, d.done})
	case "write", "truncate":
		op.file.pending = append(op.file.pending, numbered{op, d.done})
	case "sync":
		op.file.sync(op.begun)
	case "sync folder":
		n := 0
		for n < len(d.pending) && d.pending[n].number < op.begun {
			apply(d.names, d.pending[n].diskOp)
			n++
		}
		d.pending = d.pending[n:]
	}
	d.done++
}

func apply(names map[string]*diskFile, op diskOp) {
	switch op.kind {
	case "create":
		names[op.name] = op.file
	case "remove":
		delete(names, op.name)
	case "rename":
		names[op.to] = names[op.name]
		delete(names, op.name)
	}
}

// sync makes everything durable that was written before operation number begun.
func (f *diskFile) sync(begun int) {
	n := 0
	for n < len(f.pending) && f.pending[n].number < begun {
		f.durable = put(f.durable, f.pending[n].diskOp, nil)
		n++
	}
	f.pending = f.pending[n:]
}

// put does one write or truncation on a content; keep, when given, says which
// sectors of a write arrive.
func put(data []byte, op diskOp, keep func() bool) []byte {
	if op.kind == "truncate" {
		if op.size <= int64(len(data)) {
			return data[:op.size]
		}
		return append(data, make([]byte, op.size-int64(len(data)))...)
	}
	for at, rest := op.at, op.data; len(rest) > 0; {
		n := min(int64(len(rest)), sector-at%sector)
		if keep == nil || keep() {
			if end := at + n; end > int64(len(data)) {
				data = append(data, make([]byte, end-int64(len(data)))...)
			}
			copy(data[at:], rest[:n])
		}
		at, rest = at+n, rest[n:]
	}
	return data
}

// cut is how much of what was not synced a power cut leaves.
type cut string

// The cuts that are tried at each moment.
const (
	cutAll   cut = "all of it lost"
	cutNone  cut = "none of it lost"
	cutNames cut = "names lost, contents kept"
	cutDrawn cut = "any of it lost"
)

// image is the folder after a power cut at this moment.
func (d *powerDisk) image(c cut, random *rand.Rand) map[string][]byte {
	names := maps.Clone(d.names)
	kept := 0
	switch c {
	case cutNone:
		kept = len(d.pending)
	case cutDrawn:
		kept = random.IntN(len(d.pending) + 1)
	}
	for _, op := range d.pending[:kept] {
		apply(names, op.diskOp)
	}
	out := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out[name] = names[name].image(c, random)
	}
	return out
}

func (f *diskFile) image(c cut, random *rand.Rand) []byte {
	data := slices.Clone(f.durable)
	if c == cutAll {
		return data
	}
	whole := c != cutDrawn
	for _, op := range f.pending {
		switch {
		case whole || random.IntN(3) == 0:
			data = put(data, op.diskOp, nil)
		case op.kind == "write" && random.IntN(2) == 0:
			data = put(data, op.diskOp, func() bool { return random.IntN(2) == 0 })
		}
	}
	return data
}
