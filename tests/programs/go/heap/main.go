// SPDX-License-Identifier: Apache-2.0

// heap RATE: allocates in known functions with runtime.MemProfileRate = RATE (0: the default). It
// prints "ready" and then answers each line of its input: "gc" after three collections of garbage,
// "allocate" after it has allocated again, and "profile FILE" after it has written its heap profile.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
)

const deep = 300

type list[T any] struct{ items []T }

type maker interface{ make(n int) []byte }

type plain struct{ n int }

type wrapped struct{ plain }

var (
	held   [][]byte
	maps   []map[int]string
	lists  []*list[[4]int64]
	text   string
	hidden sync.Map
)

//go:noinline
func keep(n, size int) {
	for i := 0; i < n; i++ {
		held = append(held, make([]byte, size)) // at keep
	}
}

//go:noinline
func drop(n, size int) {
	for i := 0; i < n; i++ {
		sink = make([]byte, size) // at drop
	}
	sink = nil
}

var sink []byte

// These are inlined into each other and into their caller.
func inner(size int) []byte  { return make([]byte, size) }
func middle(size int) []byte { return inner(size + 16) }
func outer(size int) []byte  { return middle(size + 16) }

//go:noinline
func inlined(n int) {
	for i := 0; i < n; i++ {
		held = append(held, outer(1000))
	}
}

func (l *list[T]) add(v T) { l.items = append(l.items, v) }

//go:noinline
func generic(n int) {
	l := &list[[4]int64]{}
	for i := 0; i < n; i++ {
		l.add([4]int64{int64(i)})
	}
	lists = append(lists, l)
}

// A stack trace that is longer than the runtime's limit ends inside of inlined calls.
//
//go:noinline
func recurse(depth int) {
	if depth == 0 {
		held = append(held, make([]byte, 3000))
		return
	}
	step(depth)
}
func step(depth int)  { again(depth) }
func again(depth int) { recurse(depth - 1) }

//go:noinline
func (p plain) make(n int) []byte { return make([]byte, n+p.n) }

//go:noinline
func method(m maker, n int) {
	held = append(held, m.make(n))
}

//go:noinline
func runtimes(n int) {
	m := map[int]string{}
	for i := 0; i < n; i++ {
		m[i] = strconv.Itoa(i) + text
		hidden.Store(i, m[i])
	}
	maps = append(maps, m)
	held = append(held, []byte(strings.Repeat("x", n)))
}

func allocate() {
	keep(100, 5000)
	keep(3, 700000)
	drop(200, 8192)
	inlined(50)
	generic(500)
	recurse(deep)
	method(&wrapped{plain{7}}, 900)
	method(plain{8}, 900)
	runtimes(400)
	var done sync.WaitGroup
	for i := 0; i < 4; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			drop(10, 12345)
		}()
	}
	done.Wait()
}

func write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("heap").WriteTo(f, 0)
}

func answer(line string) {
	words := strings.Fields(line)
	switch words[0] {
	case "gc":
		for i := 0; i < 3; i++ {
			runtime.GC()
		}
	case "allocate":
		allocate()
	case "profile":
		if err := write(words[1]); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("done")
}

func main() {
	rate, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	if rate > 0 {
		runtime.MemProfileRate = rate
	}
	debug.SetGCPercent(-1) // only by the command gc
	text = strings.Repeat("text", 10)
	allocate()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		answer(in.Text())
	}
}
