// SPDX-License-Identifier: Apache-2.0
// Sends numbers through an interface: pgo ROUNDS. The compiler inlines what a profile shows to be hot.
package main

import (
	"fmt"
	"os"
	"strconv"
)

type step interface {
	apply(v uint64) uint64
}

type mixer struct{ key uint64 }

// apply is too large to be inlined without a profile, for its rare case.
func (m mixer) apply(v uint64) uint64 {
	if v&0xfffff != 0 {
		return v + m.key
	}
	v = v<<13 | v>>51
	v ^= v >> 7
	v = v<<17 | v>>47
	if v&1 == 0 {
		v += m.key
	}
	v ^= v >> 9
	v = v<<5 | v>>59
	v ^= v >> 3
	if v&2 == 0 {
		v -= m.key >> 1
	}
	return v
}

type counter struct{ n uint64 }

func (c *counter) apply(v uint64) uint64 {
	c.n++
	return v + c.n
}

//go:noinline
func run(steps []step, n int) uint64 {
	var sum uint64
	for i := 0; i < n; i++ {
		for _, s := range steps {
			sum = s.apply(sum + uint64(i))
		}
	}
	return sum
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	var steps []step
	for i := 0; i < 8; i++ {
		steps = append(steps, mixer{uint64(i) * 0x9e3779b97f4a7c15})
	}
	if len(os.Args) > 2 {
		steps = append(steps, &counter{})
	}
	fmt.Println(run(steps, n))
}
