// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// FuzzResponse checks that, for any response in one or several pieces, the turn succeeds or
// fails with a reason, and every event has exactly one member.
func FuzzResponse(f *testing.F) {
	for _, mediaType := range []string{"text/plain", "application/json", "application/x-ndjson", "text/event-stream", "x/y; a=b", ""} {
		f.Add(mediaType, `{"text":"a"}`+"\n"+`{"kind":"status-update","status":{"state":"working"},"metadata":{"error":"x"}}`+"\n")
		f.Add(mediaType, "data: {\"message\":{\"parts\":[{\"text\":\"a\"}]}}\n\n: x\ndata\n\n")
		f.Add(mediaType, "a\xe2\x82")
		f.Add(mediaType, "data: {\"text\":\"a\"}\r\r\ndata: {\"text\":\rdata: \"b\"}\r\n\r")
	}
	f.Fuzz(func(t *testing.T, mediaType, body string) {
		output := [2]string{}
		for i, reader := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
			client := stream.New(nil, stream.Limits{MaxEvent: 1 << 10, MaxAnswer: 4 << 10})
			resp := &http.Response{Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(reader), ContentLength: int64(len(body))}
			emit := func(events []a2a.Event) error {
				for _, e := range events {
					output[i] += textOf(t, &e)
				}
				return nil
			}
			started := time.AfterFunc(time.Minute, func() { panic("the answer has no end") })
			err := read(client, resp, emit)
			started.Stop()
			if failure, ok := err.(*backend.TurnError); err != nil && (!ok || failure.Reason == "") { //nolint:errorlint // the type must match without unwrapping
				t.Errorf("read() error = %v", err)
			}
		}
		if output[0] != output[1] {
			t.Errorf("in one piece %q, byte by byte %q", output[0], output[1])
		}
	})
}

func textOf(t *testing.T, e *a2a.Event) string {
	count := 0
	for _, is := range []bool{e.Task != nil, e.Message != nil, e.Status != nil, e.Artifact != nil} {
		if is {
			count++
		}
	}
	if count != 1 {
		t.Errorf("event with %d members", count)
	}
	if e.Artifact == nil {
		return "."
	}
	s := ""
	for _, p := range e.Artifact.Artifact.Parts {
		s += p.Text + string(p.Data) + string(p.Raw) + p.URL
	}
	return s
}
