// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// newStreamingAgent returns a backend whose agent answers each message with a stream of events over
// HTTP+JSON.
func newStreamingAgent(t *testing.T, version string, events ...string) *upstream.Backend {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"supportedInterfaces":[{"url":"/","protocolBinding":"HTTP+JSON","protocolVersion":"`+version+`"}],"capabilities":{"streaming":true}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+strings.Join(events, "\n\ndata: ")+"\n\n")
	}))
	t.Cleanup(server.Close)
	b, err := upstream.New(upstream.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// TestEventsThatSayNothing tests events without the members that have their default values, which
// ProtoJSON leaves out.
func TestEventsThatSayNothing(t *testing.T) {
	t.Parallel()
	for version, parts := range map[string]string{"1.0": "parts", "0.3": "content"} {
		b := newStreamingAgent(
			t, version,
			`{"task":{"id":"t"}}`,
			`{}`,
			`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"a","role":"ROLE_AGENT"}}}}`,
			`{"statusUpdate":{"taskId":"t","status":{}}}`,
			`{"statusUpdate":{"taskId":"t"}}`,
			`{"artifactUpdate":{"taskId":"t"}}`,
			`{"statusUpdate":{"taskId":"t","status":{"message":{"messageId":"b","role":"ROLE_AGENT","`+parts+`":[{},{"text":"hi"}]}}}}`,
			`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"x"},"lastChunk":true}}`,
			`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"c","role":"ROLE_AGENT"}},"final":true}}`,
		)
		h, outcome := run(t, b, newTurn())
		if want := "unknown working unknown unknown unknown(hi) = completed"; h.String() != want || outcome != "ended" {
			t.Errorf("%s: Run() = %q, %s, want %q", version, h, outcome, want)
		}
	}
}

// TestMessagesOfTheClientAreNotRelayed tests agents that repeat the message of the client in a status:
// with its role, with its id, and with both.
func TestMessagesOfTheClientAreNotRelayed(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"role": `{"messageId":"other","role":"ROLE_USER","parts":[{"text":"hi"}]}`,
		"id":   `{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"hi"}]}`,
		"both": `{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newStreamingAgent(
				t, "1.0",
				`{"task":{"id":"t","status":{"state":"TASK_STATE_SUBMITTED","message":`+message+`}}}`,
				`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"42"}]}}}}`,
				`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED","message":`+message+`}}}`,
			)
			if h, outcome := run(t, b, newTurn()); h.String() != "submitted working(42) completed(42)" || outcome != "ended" {
				t.Errorf("Run() = %q, %s", h, outcome)
			}
		})
	}
}

// TestPartsWithAKindOverHTTPJSON tests agents of 0.3 that send the objects of JSON-RPC over HTTP+JSON.
func TestPartsWithAKindOverHTTPJSON(t *testing.T) {
	t.Parallel()
	const parts = `[{"kind":"text","text":"hi"},{"kind":"data","data":{"a":1}},{"kind":"data","data":{"data":{"b":2}}},{"kind":"file","file":{"bytes":"aGk=","mimeType":"text/plain"}}]`
	const message = `{"kind":"message","messageId":"a","role":"agent","taskId":"t","parts":` + parts + `}`
	for name, events := range map[string][]string{
		"bare": {
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working","message":` + message + `},"final":false}`,
			`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"x","parts":` + parts + `},"lastChunk":true}`,
			`{"kind":"task","id":"t","contextId":"c","status":{"state":"completed","message":` + message + `}}`,
		},
		"in a member": {
			`{"statusUpdate":{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working","message":` + message + `},"final":false}}`,
			`{"artifactUpdate":{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"x","parts":` + parts + `},"lastChunk":true}}`,
			`{"task":{"kind":"task","id":"t","contextId":"c","status":{"state":"completed","message":` + message + `}}}`,
		},
		"in a response": {
			`{"jsonrpc":"2.0","id":null,"result":{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working","message":` + message + `},"final":false}}`,
			`{"jsonrpc":"2.0","id":null,"result":{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"x","parts":` + parts + `},"lastChunk":true}}`,
			`{"jsonrpc":"2.0","id":null,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"completed","message":` + message + `}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, outcome := run(t, newStreamingAgent(t, "0.3", events...), newTurn())
			if h.String() != "working(hi) =hi completed(hi)" || outcome != "ended" {
				t.Fatalf("Run() = %q, %s", h, outcome)
			}
			for _, got := range [][]a2a.Part{h.events[0].Status.Status.Message.Parts, h.events[1].Artifact.Artifact.Parts, h.events[2].Status.Status.Message.Parts} {
				if len(got) != 4 || string(got[1].Data) != `{"a":1}` || string(got[2].Data) != `{"data":{"b":2}}` || string(got[3].Raw) != "hi" {
					t.Errorf("parts = %+v", got)
				}
			}
		})
	}
}
