// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// post sends a framed request for the task t to url, which ends with GetTask or
// SubscribeToTask. It returns the number of bytes of the response.
func post(b *testing.B, client *http.Client, url string) int64 {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader([]byte{0, 0, 0, 0, 3, 0x12, 1, 't'}))
	if err != nil {
		b.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "Grpc-Timeout": {"60S"}}
	response, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || response.Trailer.Get("Grpc-Status")+response.Header.Get("Grpc-Status") != "0" {
		b.Fatal(response.Trailer, err)
	}
	_ = response.Body.Close()
	return n
}

func benchClient(b *testing.B) *http.Client {
	b.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	b.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// reportCPU returns a function that reports the CPU time per operation since the call of
// reportCPU. It is the time of the process, which runs both client and server.
func reportCPU(b *testing.B) func() {
	b.Helper()
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	began := used()
	return func() { b.ReportMetric(float64(used()-began)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkCall measures one GetTask over an existing connection.
func BenchmarkCall(b *testing.B) {
	x := newFixture(b, &fake{Task: newTask(a2a.StateWorking)})
	client := benchClient(b)
	url := "http://" + x.address + "/lf.a2a.v1.A2AService/GetTask"
	post(b, client, url)
	b.ReportAllocs()
	b.ResetTimer()
	defer reportCPU(b)()
	for range b.N {
		post(b, client, url)
	}
}

// BenchmarkStream measures the time of one event of a long stream, in batches of several
// sizes and with artifacts of several lengths.
func BenchmarkStream(b *testing.B) {
	for name, size := range map[string]struct{ batch, text, events int }{
		"batch=1/text=100":  {1, 100, 1000},
		"batch=20/text=100": {20, 100, 1000},
		"batch=1/text=256K": {1, 256 << 10, 20},
	} {
		b.Run(name, func(b *testing.B) {
			f := &fake{}
			for i := range size.events {
				f.Records = append(f.Records, artifact(uint64(i+1), strings.Repeat("x", size.text)))
			}
			f.Batch = size.batch
			x := newFixture(b, f)
			client := benchClient(b)
			url := "http://" + x.address + "/lf.a2a.v1.A2AService/SubscribeToTask"
			post(b, client, url)
			b.ReportAllocs()
			b.ResetTimer()
			defer reportCPU(b)()
			for n := 0; n < b.N; n += size.events {
				post(b, client, url)
			}
		})
	}
}
