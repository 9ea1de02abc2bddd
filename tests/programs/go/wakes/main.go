// SPDX-License-Identifier: Apache-2.0

// wakes N: a goroutine with a thread of its own reads from a pipe N times, to which another one
// writes.
package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const pause = 6 * time.Millisecond

var ends [2]int

//go:noinline
func waitPipe() {
	var b [1]byte
	syscall.Read(ends[0], b[:])
}

//go:noinline
func wakePipe() {
	syscall.Write(ends[1], []byte("x"))
}

func main() {
	turns, _ := strconv.Atoi(os.Args[1])
	back := make(chan bool)
	syscall.Pipe(ends[:])
	go func() {
		runtime.LockOSThread()
		for i := 0; i < turns; i++ {
			waitPipe()
			back <- true
		}
	}()
	for i := 0; i < turns; i++ {
		time.Sleep(pause)
		wakePipe()
		<-back
	}
}
