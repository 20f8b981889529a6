package main

import (
	"os"
	"runtime/pprof"
)

// profiled runs a command under the processor profiler when its first two
// arguments are --profile and a prefix. The heap is written as the collector
// last saw it: at its end a command holds what it answered, so look at the
// allocations for the rest.
func profiled(args []string, command func(args []string) error) (err error) {
	if len(args) < 2 || args[0] != "--profile" {
		return command(args)
	}
	cpu, err := os.Create(args[1] + ".cpu")
	if err != nil {
		return err
	}
	defer cpu.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err = command(args[2:])
	pprof.StopCPUProfile()
	heap, herr := os.Create(args[1] + ".heap")
	if herr != nil {
		return herr
	}
	defer heap.Close()
	if herr := pprof.Lookup("heap").WriteTo(heap, 0); err == nil {
		err = herr
	}
	return err
}
