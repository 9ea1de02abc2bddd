// SPDX-License-Identifier: Apache-2.0

// Profiles itself: shop CLIENT SERVER. CLIENT is "sdk" for pyroscope-go, or "connect" for the generated client
// of Pyroscope's API, with which Alloy and profilecli push. See sdks.py for what it does and prints.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/grafana/pyroscope-go"
	"golang.org/x/sys/unix"
)

const allocations = 200

var (
	kept [][]byte
	lock sync.Mutex
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// cpu returns the CPU time of this thread.
func cpu() time.Duration {
	var t unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return time.Duration(t.Nano())
}

//go:noinline
func spin(d time.Duration) time.Duration {
	begun, x := cpu(), 1
	for cpu()-begun < d {
		for i := 0; i < 100000; i++ {
			x = x*31 + i
		}
	}
	runtime.KeepAlive(x)
	return cpu() - begun
}

//go:noinline
func pay() time.Duration { return spin(30*time.Millisecond) + 0 }

//go:noinline
func cart() time.Duration { return spin(10*time.Millisecond) + 0 }

//go:noinline
func allocate() {
	for i := 0; i < allocations; i++ {
		kept = append(kept, make([]byte, 32<<10))
	}
}

//go:noinline
func hold() {
	lock.Lock()
	time.Sleep(time.Millisecond)
	lock.Unlock()
}

// contend makes goroutines wait for each other.
func contend() {
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Go(func() {
			for j := 0; j < 5; j++ {
				hold()
			}
		})
	}
	all.Wait()
}

// work returns the CPU time of each function.
func work() map[string]time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	done := map[string]time.Duration{}
	for range 40 {
		done["main.pay"] += pay()
		done["main.cart"] += cart()
	}
	return done
}

func sdk(server string) map[string]time.Duration {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	p, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "shop", ServerAddress: server, Tags: map[string]string{"env": "test"}, UploadRate: time.Hour,
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU, pyroscope.ProfileAllocObjects, pyroscope.ProfileAllocSpace, pyroscope.ProfileInuseObjects,
			pyroscope.ProfileInuseSpace, pyroscope.ProfileGoroutines, pyroscope.ProfileMutexCount,
			pyroscope.ProfileMutexDuration, pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	must(err)
	allocate()
	contend()
	done := work()
	p.Flush(true)
	must(p.Stop())
	return done
}

func push(server string) map[string]time.Duration {
	var profile bytes.Buffer
	must(pprof.StartCPUProfile(&profile))
	done := work()
	pprof.StopCPUProfile()
	labels := []*typesv1.LabelPair{{Name: "__name__", Value: "process_cpu"}, {Name: "service_name", Value: "shop"}, {Name: "env", Value: "test"}}
	_, err := pushv1connect.NewPusherServiceClient(http.DefaultClient, server).Push(context.Background(), connect.NewRequest(&pushv1.PushRequest{
		Series: []*pushv1.RawProfileSeries{{Labels: labels, Samples: []*pushv1.RawSample{{RawProfile: profile.Bytes(), ID: "1"}}}},
	}))
	must(err)
	return done
}

func main() {
	runtime.MemProfileRate = 1
	var done map[string]time.Duration
	if os.Args[1] == "sdk" {
		done = sdk(os.Args[2])
	} else {
		done = push(os.Args[2])
	}
	must(json.NewEncoder(os.Stdout).Encode(done))
}
