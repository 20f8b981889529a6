package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/mcpserver"
)

// BenchmarkCall is one call through argument layer, handler and encoding.
func BenchmarkCall(b *testing.B) {
	s := mcpserver.New(mcpserver.Options{Documents: []mcpserver.Tool{echo}})
	raw := json.RawMessage(`{"value":"a text of an ordinary length"}`)
	b.ReportAllocs()
	for b.Loop() {
		if reply, err := s.Call(b.Context(), "echo", raw); err != nil || reply.Fault != nil {
			b.Fatal(err, reply)
		}
	}
}

// BenchmarkLongList is the argument layer on two lists of a thousand records.
func BenchmarkLongList(b *testing.B) {
	s := mcpserver.New(mcpserver.Options{})
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"id":"r%d","name":"Supplier number %d Limited","city":"Town %d"}`, i, i*7919, i%50))
	}
	list := "[" + strings.Join(rows, ",") + "]"
	// An unknown pack ends the call after its arguments are read.
	raw := json.RawMessage(`{"list_a":` + list + `,"list_b":` + list + `,"entity":"none"}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if reply, err := s.Call(b.Context(), "compare_records", raw); err != nil || reply.Fault == nil {
			b.Fatal(err, reply)
		}
	}
}
