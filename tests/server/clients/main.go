// SPDX-License-Identifier: Apache-2.0

// Sends profiles with the exporters that other projects use, and prints how many they report as
// delivered: clients KIND ADDRESS N. Each profile has one sample and an id of its own.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go/upstream"
	"github.com/grafana/pyroscope-go/upstream/remote"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

const pause = 20 * time.Millisecond

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// otlp returns profile number n: one sample of "main" with the value 1.
func otlp(n int) pprofile.Profiles {
	all := pprofile.NewProfiles()
	d := all.Dictionary()
	d.StringTable().Append("", "samples", "count", "main")
	d.MappingTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.FunctionTable().AppendEmpty().SetNameStrindex(3)
	d.LocationTable().AppendEmpty()
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1)
	d.StackTable().AppendEmpty()
	d.StackTable().AppendEmpty().LocationIndices().Append(1)
	resource := all.ResourceProfiles().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "client")
	p := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	var id [16]byte
	binary.BigEndian.PutUint64(id[8:], uint64(n)+1)
	p.SetProfileID(id)
	p.SetTime(pcommon.NewTimestampFromTime(time.Now()))
	p.SampleType().SetTypeStrindex(1)
	p.SampleType().SetUnitStrindex(2)
	sample := p.Samples().AppendEmpty()
	sample.SetStackIndex(1)
	sample.Values().Append(1)
	return all
}

// retry repeats until it succeeds, so that a loss is the server's.
func retry() configretry.BackOffConfig {
	c := configretry.NewDefaultBackOffConfig()
	c.InitialInterval = 100 * time.Millisecond
	c.MaxInterval = time.Second
	c.MaxElapsedTime = 5 * time.Minute
	return c
}

func otlpExporter(kind, address string) xexporter.Profiles {
	ctx := context.Background()
	none := configoptional.None[exporterhelper.QueueBatchConfig]()
	if kind == "otlp-grpc" {
		f := otlpexporter.NewFactory().(xexporter.Factory)
		c := f.CreateDefaultConfig().(*otlpexporter.Config)
		c.ClientConfig.Endpoint = address
		c.ClientConfig.TLS.Insecure = true
		c.RetryConfig = retry()
		c.QueueConfig = none
		e, err := f.CreateProfiles(ctx, exportertest.NewNopSettings(f.Type()), c)
		must(err)
		return e
	}
	f := otlphttpexporter.NewFactory().(xexporter.Factory)
	c := f.CreateDefaultConfig().(*otlphttpexporter.Config)
	c.ClientConfig.Endpoint = "http://" + address
	c.RetryConfig = retry()
	c.QueueConfig = none
	e, err := f.CreateProfiles(ctx, exportertest.NewNopSettings(f.Type()), c)
	must(err)
	return e
}

func sendOTLP(kind, address string, n int) int {
	e := otlpExporter(kind, address)
	must(e.Start(context.Background(), componenttest.NewNopHost()))
	delivered := 0
	for i := 0; i < n; i++ {
		if err := e.ConsumeProfiles(context.Background(), otlp(i)); err == nil {
			delivered++
		} else {
			fmt.Fprintln(os.Stderr, err)
		}
		time.Sleep(pause)
	}
	must(e.Shutdown(context.Background()))
	return delivered
}

type logger struct{ failed atomic.Int64 }

func (l *logger) Infof(string, ...interface{})  {}
func (l *logger) Debugf(string, ...interface{}) {}
func (l *logger) Errorf(f string, a ...interface{}) {
	l.failed.Add(1)
	fmt.Fprintf(os.Stderr, f+"\n", a...)
}

// pprofBytes returns profile number n, which differs from the others by its time.
func pprofBytes(n int) []byte {
	fn := &profile.Function{ID: 1, Name: "main"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn}}}
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Sample:        []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1}}},
		Location:      []*profile.Location{l},
		Function:      []*profile.Function{fn},
		TimeNanos:     time.Now().UnixNano() + int64(n),
		DurationNanos: int64(time.Second),
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	must(p.WriteUncompressed(z))
	must(z.Close())
	return b.Bytes()
}

// sendPyroscope uses pyroscope-go's uploader, which does not repeat what failed.
func sendPyroscope(address string, n int) int {
	l := &logger{}
	r, err := remote.NewRemote(remote.Config{
		Address: "http://" + address, Threads: 1, Timeout: 20 * time.Second, Logger: l,
	})
	must(err)
	r.Start()
	for i := 0; i < n; i++ {
		now := time.Now()
		r.Upload(&upstream.UploadJob{
			Name: "client{}", StartTime: now.Add(-time.Second), EndTime: now, SpyName: "gospy",
			SampleRate: 100, Units: "samples", AggregationType: "sum", Format: upstream.FormatPprof,
			Profile: pprofBytes(i),
			SampleTypeConfig: map[string]*upstream.SampleType{
				"samples": {DisplayName: "cpu", Units: "samples", Sampled: true},
			},
		})
		r.Flush()
		time.Sleep(pause)
	}
	r.Stop()
	return n - int(l.failed.Load())
}

func main() {
	n, err := strconv.Atoi(os.Args[3])
	must(err)
	var delivered int
	if os.Args[1] == "pyroscope-go" {
		delivered = sendPyroscope(os.Args[2], n)
	} else {
		delivered = sendOTLP(os.Args[1], os.Args[2], n)
	}
	fmt.Println(delivered)
}
