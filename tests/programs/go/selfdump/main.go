// SPDX-License-Identifier: Apache-2.0

// Prints what Go's runtime reports about its functions: a line with its version,
// then for every STEP-th address from LO to HI (in the file's terms) one line
//
//	address TAB entry TAB function TAB file TAB line [TAB function TAB file TAB line]...
//
// with the frames innermost first, or none at a function's last byte. MAIN is the file's address of main.main,
// from which the load bias follows. Arguments: LO HI STEP MAIN, hexadecimal.
// The imports only add code.
package main

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"sort"
	"strconv"
)

var code = []interface{}{gzip.NewWriter, sha256.New, json.Marshal, net.ParseIP, regexp.Compile,
	sort.Strings}

func argument(i int) uintptr {
	v, err := strconv.ParseUint(os.Args[i], 16, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return uintptr(v)
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: selfdump LO HI STEP MAIN", len(code))
		os.Exit(2)
	}
	lo, hi, step := argument(1), argument(2), argument(3)
	bias := reflect.ValueOf(main).Pointer() - argument(4)
	out := bufio.NewWriter(os.Stdout)

	fmt.Fprintln(out, runtime.Version())
	for pc := lo; pc < hi; pc += step {
		f := runtime.FuncForPC(pc + bias)
		if f == nil {
			fmt.Fprintf(out, "%x\t-\n", pc)
			continue
		}
		fmt.Fprintf(out, "%x\t%x", pc, f.Entry()-bias)
		// passed as a return address, which the run time decrements, but
		// only inside a function; inlined calls are expanded only if
		// another address follows
		if next := runtime.FuncForPC(pc + bias + 1); next == nil || next.Entry() != f.Entry() {
			fmt.Fprintln(out)
			continue
		}
		frames := runtime.CallersFrames([]uintptr{pc + bias + 1, 0})
		for {
			frame, more := frames.Next()
			fmt.Fprintf(out, "\t%s\t%s\t%d", frame.Function, frame.File, frame.Line)
			if !more {
				break
			}
		}
		fmt.Fprintln(out)
	}
	out.Flush()
}
