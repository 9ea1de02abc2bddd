// SPDX-License-Identifier: Apache-2.0

// scraped: serves net/http/pprof at a free port of the loopback interface, which it prints, with every
// allocation, contention and block recorded. It computes in burn all the time and has 37 goroutines in
// park. GET /allocate?n=N makes N allocations in allocateKnown, and GET /contend?n=N has N goroutines
// wait for a mutex in contendKnown. Both answer when the runtime's profiles have them.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const parked = 37

var sink []byte

//go:noinline
func allocateKnown(n int) {
	for i := 0; i < n; i++ {
		sink = make([]byte, 4096)
	}
	sink = nil
}

//go:noinline
func contendKnown(n int) {
	var lock sync.Mutex
	var all sync.WaitGroup

	lock.Lock()
	for i := 0; i < n; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			lock.Lock()
			lock.Unlock()
		}()
	}
	time.Sleep(20 * time.Millisecond)
	lock.Unlock()
	all.Wait()
}

//go:noinline
func park(forever chan int) { <-forever }

//go:noinline
func burn() {
	for x := uint64(1); ; x = x*6364136223846793005 + 1442695040888963407 {
		if x == 0 {
			fmt.Println("unreachable")
		}
	}
}

func number(r *http.Request) int {
	n, _ := strconv.Atoi(r.URL.Query().Get("n"))
	return n
}

func main() {
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	runtime.GOMAXPROCS(4)
	for i := 0; i < parked; i++ {
		go park(make(chan int))
	}
	go burn()
	http.HandleFunc("/allocate", func(w http.ResponseWriter, r *http.Request) {
		allocateKnown(number(r))
		for i := 0; i < 3; i++ {
			runtime.GC()
		}
	})
	http.HandleFunc("/contend", func(w http.ResponseWriter, r *http.Request) { contendKnown(number(r)) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	panic(http.Serve(l, nil))
}
