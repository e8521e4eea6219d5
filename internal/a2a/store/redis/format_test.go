// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var at = taskIDs{taskID: "t", contextID: "c"}

// whole returns a message with all fields set.
func whole(taskID, contextID string) *a2a.Message {
	return &a2a.Message{
		ID: "m", TaskID: taskID, ContextID: contextID, Role: a2a.RoleAgent,
		Parts: []a2a.Part{
			a2a.TextPart("ünicode\x00"),
			{Content: a2a.ContentText},
			{Content: a2a.ContentRaw, Raw: []byte{0, 0xff}, Filename: "f", MediaType: "image/png", Metadata: a2a.Object(`{}`)},
			{Content: a2a.ContentRaw, Raw: []byte{}},
			{Content: a2a.ContentRaw},
			{Content: a2a.ContentURL, URL: "https://example.com"},
			{Content: a2a.ContentData, Data: a2a.Value(`[1.50]`)},
			{},
		},
		Metadata: a2a.Object(`{"a":1}`), Extensions: []string{"urn:x", ""}, ReferenceTasks: []string{},
	}
}

func everything() []a2a.Event {
	again := whole("t", "c")
	return []a2a.Event{
		{Message: whole("t", "c")},
		{Message: whole("", "other")},
		{Message: &a2a.Message{}},
		{Status: &a2a.StatusUpdate{
			TaskID: "t", ContextID: "c", Paused: true, Metadata: a2a.Object(`{}`), Note: "n",
			Status: a2a.Status{State: a2a.StateInputRequired, Message: again, Time: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)},
		}},
		{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateRejected, Message: again}}},
		{Status: &a2a.StatusUpdate{Status: a2a.Status{Time: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		{Artifact: &a2a.ArtifactUpdate{
			TaskID: "t", ContextID: "c", Index: 300, Append: true, JoinText: true, LastChunk: true, Metadata: a2a.Object(`{"b":2}`),
			Artifact: a2a.Artifact{
				ID: "a", Name: "n", Description: "d", Parts: whole("", "").Parts, Metadata: a2a.Object(`{}`), Extensions: []string{"urn:y"},
			},
		}},
		{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{Parts: []a2a.Part{}}}},
	}
}

func TestFormatKeepsAllFields(t *testing.T) {
	want := everything()
	got, repeats, err := readEvents(at, writeEvents(at, want, nil))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("events: error = %v, difference (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]bool{false, false, false, false, true, false, false, false}, repeats); diff != "" {
		t.Errorf("repeats (-want +got):\n%s", diff)
	}
	fold := store.NewFold("t", store.Origin{ContextID: "c", Dialect: a2a.DialectV10})
	for i := range want {
		fold.Apply(&want[i])
	}
	task, err := readTask(writeTask(fold.Task()))
	if diff := cmp.Diff(fold.Task(), task); diff != "" || err != nil {
		t.Errorf("task: error = %v, difference (-want +got):\n%s", err, diff)
	}
	m, err := readMessage(writeMessage(whole("t", "c")))
	if diff := cmp.Diff(whole("t", "c"), m); diff != "" || err != nil {
		t.Errorf("message: error = %v, difference (-want +got):\n%s", err, diff)
	}
	p := store.Push{
		Task: store.Key{Owner: "o\x1ft", TaskID: "t"}, Generation: 7, Acked: 3, Since: 2, Expires: time.UnixMilli(99).UTC(), Replica: "a b/1",
		Config: a2a.PushConfig{
			Dialect: a2a.DialectV10, ID: "i", TaskID: "t", URL: "u", Token: "k", Scheme: "Bearer", Credentials: "c",
			Extensions: []string{"x"}, Trace: a2a.TraceContext{Parent: "p", State: "s"},
		},
	}
	back, err := readPush(string(writePush(&p)), "7 3 99 a b/1")
	if diff := cmp.Diff(p, back); diff != "" || err != nil {
		t.Errorf("push: error = %v, difference (-want +got):\n%s", err, diff)
	}
	p.Through = 5
	back, err = readPush(string(writePush(&p)), "7 3-5 99 a b/1")
	if diff := cmp.Diff(p, back); diff != "" || err != nil {
		t.Errorf("push with joined events: error = %v, difference (-want +got):\n%s", err, diff)
	}
}

// Bytes of a later format version, and truncated bytes, are refused as a whole.
func TestFormatIsStrict(t *testing.T) {
	encoded := writeEvents(at, everything(), nil)
	for n := range encoded {
		if _, _, err := readEvents(at, encoded[:n]); !errors.Is(err, errFormat) {
			t.Fatalf("readEvents() of %d bytes: error = %v", n, err)
		}
	}
	for name, text := range map[string][]byte{
		"trailing bytes": append(slices.Clip(encoded), 0),
		"another form":   append([]byte{2}, encoded[1:]...),
		"unknown flag":   {formatV1, 1, kindStatus, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"unknown kind":   {formatV1, 1, 9, 0, 0},
		"long number":    {formatV1, 0x80, 0},
		"huge count":     {formatV1, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if _, _, err := readEvents(at, text); !errors.Is(err, errFormat) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

// FuzzForm decodes arbitrary bytes. They are refused, or they decode to a value whose
// encoding decodes to the same value. The encoding of events has at most as many bytes as
// were decoded.
func FuzzForm(f *testing.F) {
	f.Add(writeEvents(at, everything(), nil))
	f.Add(writeEvents(at, everything()[:1], nil))
	f.Add(writeTask(&a2a.Task{ID: "t", Artifacts: []a2a.Artifact{{ID: "a"}}, History: []*a2a.Message{whole("", "")}}))
	f.Add(writeMessage(whole("t", "c")))
	f.Fuzz(func(t *testing.T, text []byte) {
		if events, _, err := readEvents(at, text); err == nil {
			again := writeEvents(at, events, nil)
			got, _, err := readEvents(at, again)
			if diff := cmp.Diff(events, got); diff != "" || err != nil || len(again) > len(text) {
				t.Errorf("events of %d and %d bytes: error = %v (-want +got):\n%s", len(text), len(again), err, diff)
			}
		}
		if task, err := readTask(text); err == nil {
			got, err := readTask(writeTask(task))
			if diff := cmp.Diff(task, got); diff != "" || err != nil {
				t.Errorf("task: error = %v (-want +got):\n%s", err, diff)
			}
		}
		if m, err := readMessage(text); err == nil {
			got, err := readMessage(writeMessage(m))
			if diff := cmp.Diff(m, got); diff != "" || err != nil {
				t.Errorf("message: error = %v (-want +got):\n%s", err, diff)
			}
		}
	})
}
