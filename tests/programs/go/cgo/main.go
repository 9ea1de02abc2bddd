// SPDX-License-Identifier: Apache-2.0

// Go into C and back: main.main -> main.outer -> (cgo) c_outer -> c_middle ->
// (cgo) main.goCallback -> main.inner -> (cgo) c_hot, for SECONDS (the first
// argument, 1 by default); c_hot's loop runs as often as the second says. The
// C functions keep no frame pointer.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#include <stdint.h>

uint64_t c_outer(uint64_t n);
uint64_t c_hot(uint64_t n);
extern int c_iterations;
*/
import "C"

import (
	"os"
	"strconv"
	"time"
)

//go:noinline
func inner(n uint64) uint64 {
	var sum uint64
	for i := uint64(0); i < 10; i++ {
		sum += uint64(C.c_hot(C.uint64_t(n + i)))
	}
	return sum
}

//go:noinline
//export goCallback
func goCallback(n C.uint64_t) C.uint64_t {
	return C.uint64_t(inner(uint64(n)))
}

//go:noinline
func outer(until time.Time) uint64 {
	var sum uint64
	for time.Now().Before(until) {
		sum += uint64(C.c_outer(C.uint64_t(sum)))
	}
	return sum
}

func argument(i int, otherwise int) int {
	if len(os.Args) <= i {
		return otherwise
	}
	n, err := strconv.Atoi(os.Args[i])
	if err != nil {
		os.Exit(2)
	}
	return n
}

func main() {
	C.c_iterations = C.int(argument(2, 20000))
	outer(time.Now().Add(time.Duration(argument(1, 1)) * time.Second))
}
