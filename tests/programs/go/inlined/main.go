// SPDX-License-Identifier: Apache-2.0

// main -> outer -> middle (inlined) -> leaf (inlined), for SECONDS of CPU time;
// Go's own profile of it goes to FILE. inlined SECONDS FILE.
package main

import (
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
)

var sink uint64

func leaf(x uint64) uint64 {
	return x*6364136223846793005 + 1442695040888963407
}

func middle(x uint64) uint64 {
	return leaf(leaf(x)) ^ x>>33
}

//go:noinline
func outer(x uint64) uint64 {
	for i := 0; i < 100000; i++ {
		x += middle(x)
	}
	return x
}

func cpuSeconds() int {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return int(r.Utime.Sec + r.Stime.Sec)
}

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	file, err := os.Create(os.Args[2])
	if err != nil || pprof.StartCPUProfile(file) != nil {
		os.Exit(1)
	}
	defer pprof.StopCPUProfile()
	for cpuSeconds() < n {
		sink += outer(sink)
	}
}
