// SPDX-License-Identifier: Apache-2.0

// labels MS: works with the profiler labels of two requests, in a goroutine that inherits them, and
// without labels, for MS of CPU time altogether.
package main

import (
	"context"
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
)

var sink uint64

//go:noinline
func spin() {
	n := sink
	for i := 0; i < 1<<21; i++ {
		n = n*6364136223846793005 + 1442695040888963407
	}
	sink = n
}

//go:noinline
func cartHot(context.Context) { spin() }

//go:noinline
func payHot() { spin() }

//go:noinline
func unlabelledHot() { spin() }

func busy(ms int64) bool {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return (u.Utime.Nano()+u.Stime.Nano())/1e6 < ms
}

func main() {
	ms, _ := strconv.ParseInt(os.Args[1], 10, 64)
	cart := pprof.Labels("span_id", "00f067aa0ba902b7", "span_name", "GET /cart",
		"trace_id", "4bf92f3577b34da6a3ce929d0e0e4736")
	pay := pprof.Labels("span_id", "53995c3f42cd8ad8", "span_name", "POST /pay")
	for busy(ms) {
		pprof.Do(context.Background(), cart, cartHot)
		pprof.Do(context.Background(), pay, func(context.Context) {
			done := make(chan bool)
			go func() {
				payHot()
				done <- true
			}()
			<-done
		})
		unlabelledHot()
	}
}
