// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestAppendEvent(t *testing.T) {
	tests := map[string]struct {
		event a2a.Event
		want  string
	}{
		"a task that was created": {
			event: a2a.Event{Task: &a2a.Task{
				ID: "t1", ContextID: "c1",
				Status: a2a.Status{State: a2a.StateSubmitted, Time: newYear},
				History: []*a2a.Message{{
					ID: "m1", Role: a2a.RoleUser, TaskID: "t1", ContextID: "c1",
					Parts: []a2a.Part{a2a.TextPart("Hello")},
				}},
			}},
			want: `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"submitted","timestamp":"2026-01-01T00:00:00.000Z"},` +
				`"history":[{"kind":"message","messageId":"m1","role":"user","taskId":"t1","contextId":"c1","parts":[{"kind":"text","text":"Hello"}]}]}`,
		},
		"an artifact chunk": {
			event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: "t1", ContextID: "c1", LastChunk: true,
				Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart("Hi")}},
			}},
			want: `{"kind":"artifact-update","taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"kind":"text","text":"Hi"}]},"append":false,"lastChunk":true}`,
		},
		"done": {
			event: a2a.Event{Status: &a2a.StatusUpdate{
				TaskID: "t1", ContextID: "c1",
				Status: a2a.Status{State: a2a.StateCompleted, Time: newYear},
			}},
			want: `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed","timestamp":"2026-01-01T00:00:00.000Z"},"final":true}`,
		},
		"input required, the run has ended": {
			event: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired}}},
			want:  `{"kind":"status-update","taskId":"","contextId":"","status":{"state":"input-required"},"final":true}`,
		},
		"input required, the run waits": {
			event: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired}, Paused: true}},
			want:  `{"kind":"status-update","taskId":"","contextId":"","status":{"state":"input-required"},"final":false}`,
		},
		"auth required": {
			event: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateAuthRequired}}},
			want:  `{"kind":"status-update","taskId":"","contextId":"","status":{"state":"auth-required"},"final":false}`,
		},
		"all parts": {
			event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{
				{Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "h.txt", MediaType: "text/plain"},
				{Content: a2a.ContentURL, URL: "https://a.example/x?a=1&b=<2>"},
				{Content: a2a.ContentData, Data: a2a.Value(`{"a":[1]}`), Metadata: a2a.Object(`{"m":1}`)},
				{Content: a2a.ContentData, Data: a2a.Value(`[1]`), Metadata: a2a.Object(`{"m":1}`)},
				{Content: a2a.ContentData, Data: a2a.Value(`null`)},
				{Content: a2a.ContentData, Data: a2a.Value(`1`), Metadata: a2a.Object(`{"data_part_compat":false}`)},
			}}},
			want: `{"kind":"message","messageId":"m","role":"agent","parts":[` +
				`{"kind":"file","file":{"name":"h.txt","mimeType":"text/plain","bytes":"aGk="}},` +
				`{"kind":"file","file":{"uri":"https://a.example/x?a=1&b=<2>"}},` +
				`{"kind":"data","data":{"a":[1]},"metadata":{"m":1}},` +
				`{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true,"m":1}},` +
				`{"kind":"data","data":{"value":null},"metadata":{"data_part_compat":true}},` +
				`{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true}}]}`,
		},
		"strings are escaped no more than JSON asks": {
			event: a2a.Event{Message: &a2a.Message{ID: "\"\\\n\u2028é\x01", Role: a2a.RoleUser, Extensions: []string{"e"}, ReferenceTasks: []string{"r", "s"}}},
			want:  "{\"kind\":\"message\",\"messageId\":\"\\\"\\\\\\n\u2028é\\u0001\",\"role\":\"user\",\"parts\":[],\"extensions\":[\"e\"],\"referenceTaskIds\":[\"r\",\"s\"]}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(AppendEvent(nil, &test.event))); diff != "" {
				t.Errorf("AppendEvent() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendEventAllocatesNothing(t *testing.T) {
	event := &a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: "t1", ContextID: "c1",
		Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart("Hi\nthere")}},
	}}
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { dst = AppendEvent(dst[:0], event) }); n != 0 {
		t.Errorf("AppendEvent() allocates %v times", n)
	}
}

// TestInputRequestIsAMemberOfTheMessage checks that an input request is a member of the
// message, and metadata in the domain.
func TestInputRequestIsAMemberOfTheMessage(t *testing.T) {
	tests := map[string]struct{ text, metadata, again string }{
		"a member of the message":   {`"inputRequest":{"a":1}`, `{"inputRequest":{"a":1}}`, `"inputRequest":{"a":1}`},
		"in the metadata":           {`"metadata":{"b":2,"inputRequest":{"a":1}}`, `{"inputRequest":{"a":1},"b":2}`, `"inputRequest":{"a":1},"metadata":{"b":2}`},
		"both":                      {`"metadata":{"inputRequest":{"x":0}},"inputRequest":{"a":1}`, `{"inputRequest":{"a":1}}`, `"inputRequest":{"a":1}`},
		"null":                      {`"inputRequest":null`, ``, ``},
		"no object":                 {`"inputRequest":"x"`, ``, ``},
		"no object in the metadata": {`"metadata":{"inputRequest":7}`, `{"inputRequest":7}`, `"metadata":{"inputRequest":7}`},
		"deeper":                    {`"metadata":{"a":{"inputRequest":{}}}`, `{"a":{"inputRequest":{}}}`, `"metadata":{"a":{"inputRequest":{}}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			const head = `{"kind":"message","messageId":"m","role":"agent","parts":[]`
			e, err := DecodeEvent([]byte(head + "," + test.text + "}"))
			if err != nil {
				t.Fatal(err)
			}
			m := e.Message
			if diff := cmp.Diff(test.metadata, string(m.Metadata)); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if test.again != "" {
				test.again = "," + test.again
			}
			if diff := cmp.Diff(head+test.again+"}", string(AppendMessage(nil, m))); diff != "" {
				t.Errorf("AppendMessage() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendUnionEvent(t *testing.T) {
	tests := map[string]struct {
		event a2a.Event
		want  string
	}{
		"artifact": {
			a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: "t1", ContextID: "c1", Index: 2, LastChunk: true, Artifact: a2a.Artifact{ID: "a1", Name: "n", Parts: []a2a.Part{a2a.TextPart("Hi")}},
			}},
			`{"kind":"artifact-update","id":"t1","taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","index":2,"name":"n",` +
				`"parts":[{"kind":"text","type":"text","text":"Hi"}],"append":false,"lastChunk":true},"append":false,"lastChunk":true}`,
		},
		"status": {
			a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t1", ContextID: "c1", Status: a2a.Status{State: a2a.StateFailed, Time: newYear}}},
			`{"kind":"status-update","id":"t1","taskId":"t1","contextId":"c1","status":{"state":"failed","timestamp":"2026-01-01T00:00:00.000Z"},"final":true}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(AppendUnionEvent(nil, &test.event))); diff != "" {
				t.Errorf("AppendUnionEvent() (-want +got):\n%s", diff)
			}
		})
	}
}
