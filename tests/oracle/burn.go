// SPDX-License-Identifier: Apache-2.0

// burn writes a CPU profile of itself, with labels, and a heap profile.
package main

import (
	"context"
	"os"
	"runtime/pprof"
)

var sink uint64

//go:noinline
func spin(n uint64) {
	for i := uint64(0); i < n; i++ {
		sink += i * sink
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	cpu, err := os.Create(os.Args[1])
	must(err)
	must(pprof.StartCPUProfile(cpu))
	pprof.Do(context.Background(), pprof.Labels("worker", "spin"), func(context.Context) {
		spin(300_000_000)
	})
	spin(100_000_000)
	pprof.StopCPUProfile()
	must(cpu.Close())
	heap, err := os.Create(os.Args[2])
	must(err)
	must(pprof.WriteHeapProfile(heap))
	must(heap.Close())
}
