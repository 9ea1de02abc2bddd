// SPDX-License-Identifier: Apache-2.0

// A known stack: main.main -> main.outer -> main.middle -> main.hot, where
// hot is a leaf without a frame and the others call in a loop, for SECONDS
// (the first argument, 1 by default). The second argument is the number of goroutines that do the
// same below main.worker, the third the number of iterations of hot's loop.
package main

import (
	"os"
	"strconv"
	"time"
)

var iterations = uint64(argument(3, 20000))

//go:noinline
func hot(n uint64) uint64 {
	x := n
	for i := iterations; i > 0; i-- {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func middle(n uint64) uint64 {
	var sum uint64
	for i := uint64(0); i < 50; i++ {
		sum += hot(n + i)
	}
	return sum
}

//go:noinline
func outer(until time.Time) uint64 {
	var sum uint64
	for time.Now().Before(until) {
		sum += middle(sum)
	}
	return sum
}

//go:noinline
func worker(until time.Time, done chan<- uint64) {
	done <- outer(until)
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
	until := time.Now().Add(time.Duration(argument(1, 1)) * time.Second)
	goroutines := argument(2, 0)
	done := make(chan uint64)

	if goroutines == 0 {
		outer(until)
		return
	}
	for i := 0; i < goroutines; i++ {
		go worker(until, done)
	}
	for i := 0; i < goroutines; i++ {
		<-done
	}
}
