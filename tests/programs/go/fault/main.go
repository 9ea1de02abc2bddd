// SPDX-License-Identifier: Apache-2.0

// A known stack above a fault: main.main -> main.attempt -> main.load, whose
// first instruction reads where nothing is -> runtime.sigpanic, which the
// signal's handler makes load's callee -> main.rescue -> main.hot, a leaf.
// For SECONDS (the first argument).
package main

import (
	"os"
	"strconv"
	"time"
)

var sum uint64

//go:noinline
func hot(x uint64) uint64 {
	for i := 0; i < 1000000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func rescue() {
	if recover() != nil {
		sum = hot(sum)
	}
}

//go:noinline
func load(p *uint64) uint64 {
	return *p
}

//go:noinline
func attempt(p *uint64) uint64 {
	defer rescue()
	return load(p) + 1
}

func main() {
	seconds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	for until := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(until); {
		sum += attempt(nil)
	}
}
