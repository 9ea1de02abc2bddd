// SPDX-License-Identifier: Apache-2.0

// waits N: a goroutine with a thread of its own sleeps in a system call and reads of a pipe N
// times, and prints "NAME OFF WALL" as waits.c does.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const pause = 8 * time.Millisecond

func clock(id uintptr) int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

func off() int64 {
	return clock(1) - clock(3)
}

//go:noinline
func goSleep() {
	ts := syscall.NsecToTimespec(int64(pause))
	syscall.Nanosleep(&ts, nil)
}

var ends [2]int

//go:noinline
func goPipe() {
	var b [1]byte
	syscall.Read(ends[0], b[:])
}

func measured(name string, turns int, function func(), all *sync.WaitGroup) {
	runtime.LockOSThread()
	began, total := clock(1), int64(0)
	for i := 0; i < turns; i++ {
		at := off()
		function()
		total += off() - at
	}
	fmt.Println(name, total, clock(1)-began)
	all.Done()
}

func main() {
	turns, _ := strconv.Atoi(os.Args[1])
	var all sync.WaitGroup
	syscall.Pipe(ends[:])
	all.Add(2)
	go measured("main.goSleep", turns, goSleep, &all)
	go measured("main.goPipe", turns, goPipe, &all)
	for i := 0; i < turns; i++ {
		time.Sleep(pause)
		syscall.Write(ends[1], []byte{0})
	}
	all.Wait()
}
