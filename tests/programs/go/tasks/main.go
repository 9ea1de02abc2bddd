// SPDX-License-Identifier: Apache-2.0

// tasks MODE: goroutines that wait in known places. It prints "ready" and then answers each line of
// its input: "count" with runtime.NumGoroutine(), "dump" with the stacks of all goroutines and
// "END", "gc" after a collection of garbage, "grow" after it has started GROWN more goroutines.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const grown = 25

type pair struct{ in, out chan string }

type account struct {
	mu    sync.Mutex
	total int
}

var (
	never   = make(chan int)
	full    = make(chan int)
	held    sync.Mutex
	shared  sync.RWMutex
	pending sync.WaitGroup
	signals = sync.NewCond(&sync.Mutex{})
	started sync.WaitGroup
)

//go:noinline
func receive(depth int) int {
	if depth > 0 {
		return receive(depth-1) + 1
	}
	started.Done()
	return <-never // at receive
}

//go:noinline
func send() {
	started.Done()
	full <- 1 // at send
}

//go:noinline
func choose(p pair) {
	started.Done()
	select { // at choose
	case <-p.in:
	case <-p.out:
	}
}

//go:noinline
func lock() {
	started.Done()
	held.Lock() // at lock
	held.Unlock()
}

//go:noinline
func readLock() {
	started.Done()
	shared.RLock() // at readLock
	shared.RUnlock()
}

//go:noinline
func wait() {
	started.Done()
	pending.Wait() // at wait
}

//go:noinline
func condition() {
	signals.L.Lock()
	started.Done()
	signals.Wait() // at condition
	signals.L.Unlock()
}

//go:noinline
func sleep() {
	started.Done()
	time.Sleep(time.Hour) // at sleep
}

//go:noinline
func accept(l net.Listener) {
	started.Done()
	_, _ = l.Accept() // at accept
}

//go:noinline
func transfer(from, to *account, both *sync.WaitGroup) {
	from.mu.Lock()
	defer from.mu.Unlock()
	both.Done()
	both.Wait()
	to.mu.Lock() // at transfer
	defer to.mu.Unlock()
	from.total--
	to.total++
}

//go:noinline
func audit(a *account) int {
	a.mu.Lock() // at audit
	defer a.mu.Unlock()
	return a.total
}

func start(n int, f func()) {
	started.Add(n)
	for i := 0; i < n; i++ {
		go f() // at start
	}
}

func listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}

func counts() {
	held.Lock()
	shared.Lock()
	pending.Add(1)
	start(1200, func() { receive(3) })
	start(300, send)
	p := pair{make(chan string), make(chan string)}
	start(200, func() { choose(p) })
	start(100, lock)
	start(30, readLock)
	start(70, wait)
	start(50, condition)
	start(40, sleep)
	l := listen()
	start(10, func() { accept(l) })
	started.Wait()
}

func many(n int) {
	start(n, func() { receive(0) })
	started.Wait()
}

func deadlock() {
	var both sync.WaitGroup
	checking, savings := &account{total: 10}, &account{total: 10}
	l := listen()
	start(1, func() { accept(l) }) // Go's own detector is silent while a socket is awaited
	both.Add(2)
	go transfer(checking, savings, &both)
	go transfer(savings, checking, &both)
	both.Wait()
	for i := 0; i < 20; i++ {
		go audit(checking)
	}
}

func spin() {
	for done := make(chan int); ; <-done {
		go func() { runtime.Gosched(); done <- 1 }()
	}
}

func dump() {
	b := make([]byte, 64<<20)
	os.Stdout.Write(b[:runtime.Stack(b, true)])
	fmt.Print("\nEND\n")
}

func answer(line string) {
	switch line {
	case "count":
		fmt.Println(runtime.NumGoroutine())
	case "dump":
		dump()
	case "gc":
		runtime.GC()
		fmt.Println("done")
	case "grow":
		start(grown, func() { receive(1) })
		started.Wait()
		fmt.Println("done")
	}
}

func main() {
	switch os.Args[1] {
	case "counts":
		counts()
	case "deadlock":
		deadlock()
	case "spin":
		for i := 0; i < 8; i++ {
			go spin()
		}
		many(1000)
	default:
		n, _ := strconv.Atoi(os.Args[1])
		many(n)
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		answer(in.Text())
	}
}
