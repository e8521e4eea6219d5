// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// TestEventsOfOneReadShareMemory reads a short stream whose chunks all arrive at once, and
// checks that its events are allocated together. If they were not, each event would need two
// allocations.
func TestEventsOfOneReadShareMemory(t *testing.T) {
	client := stream.New(nil, stream.Limits{})
	for name, form := range map[string]struct{ mediaType, event string }{
		"lines":              {"application/x-ndjson", `{"text":"twenty bytes of text"}` + "\n"},
		"server-sent events": {"text/event-stream", `data: {"text":"twenty bytes of text"}` + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			allocations := func(count int) float64 {
				body := strings.Repeat(form.event, count)
				return testing.AllocsPerRun(10, func() {
					resp := &http.Response{
						Header: http.Header{"Content-Type": {form.mediaType}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
					}
					got := 0
					err := read(client, resp, func(events []a2a.Event) error {
						for _, e := range events {
							if e.Artifact.Artifact.Parts[0].Text == "twenty bytes of text" {
								got++
							}
						}
						return nil
					})
					if err != nil || got != count {
						t.Fatalf("read() = %d texts, %v, want %d", got, err, count)
					}
				})
			}
			one, many := allocations(1), allocations(maxShared)
			if more := many - one; more > maxShared/2 {
				t.Errorf("%d events need %v allocations more than one event, want at most %d", maxShared, more, maxShared/2)
			}
		})
	}
}
