// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// read reads a response without a network.
func read(client *stream.Client, resp *http.Response, emit backend.Emit) error {
	return client.Turn(context.Background(), func(_ context.Context, w *stream.Watchdog) error {
		a := &response{
			Body: client.NewBody(resp, w), limits: client.Limits(), internal: func(string) {},
			turn: &backend.Turn{TaskID: "t", ContextID: "c", Number: 1}, emit: emit, watchdog: w,
		}
		return a.read()
	})
}

// BenchmarkResponse measures the decoding of events without a network.
func BenchmarkResponse(b *testing.B) {
	const count = 1_000
	forms := map[string]struct{ mediaType, event string }{
		"short":   {"application/x-ndjson", `{"text":"twenty bytes of text"}` + "\n"},
		"escaped": {"application/x-ndjson", `{"text":"twenty\tbytes of text"}` + "\n"},
		"0.3": {
			"application/x-ndjson",
			`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"twenty bytes of text"}]},"append":true,"lastChunk":false}` + "\n",
		},
		"sse":      {"text/event-stream", `data: {"text":"twenty bytes of text"}` + "\n\n"},
		"sse CRLF": {"text/event-stream", `data: {"text":"twenty bytes of text"}` + "\r\n\r\n"},
	}
	for name, form := range forms {
		b.Run(name, func(b *testing.B) {
			body := strings.Repeat(form.event, count)
			client := stream.New(nil, stream.Limits{})
			b.ReportAllocs()
			for b.Loop() {
				resp := &http.Response{
					Header: http.Header{"Content-Type": {form.mediaType}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
				}
				if err := read(client, resp, func([]a2a.Event) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/event")
		})
	}
}
