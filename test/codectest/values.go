// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package codectest provides domain values for the tests of all codecs. Only tests import
// it. It imports no codec.
package codectest

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var noon = time.Date(2026, 1, 2, 12, 30, 0, 250e6, time.UTC)

// Message returns a message with every field set.
func Message() *a2a.Message {
	return &a2a.Message{
		ID: "m1", ContextID: "c1", TaskID: "t1", Role: a2a.RoleUser,
		Parts: []a2a.Part{
			a2a.TextPart("Hello \"world\"\n\u2028 <é> \U0001F600"),
			{Content: a2a.ContentRaw, Raw: []byte{0, 1, 0xff}, Filename: "b.bin", MediaType: "application/octet-stream"},
			{Content: a2a.ContentURL, URL: "https://example.com/a?b=c&d", MediaType: "text/html"},
			{Content: a2a.ContentData, Data: a2a.Value(`{"a":[1,2.50,null],"b":{}}`), Metadata: a2a.Object(`{"k":"v"}`)},
			{Content: a2a.ContentData, Data: a2a.Value(`[1,"x"]`), Metadata: a2a.Object(`{"k":"v"}`)},
			{Content: a2a.ContentData, Data: a2a.Value(`"text"`)},
			{Content: a2a.ContentData, Data: a2a.Value(`[null]`)},
		},
		Metadata:       a2a.Object(`{"x":{"y":[true]}}`),
		Extensions:     []string{"https://example.com/ext/1"},
		ReferenceTasks: []string{"t0", "t-1"},
	}
}

// Task returns a task with every field set.
func Task() *a2a.Task {
	return &a2a.Task{
		ID: "t1", ContextID: "c1",
		Status: a2a.Status{
			State: a2a.StateWorking, Time: noon,
			Message: &a2a.Message{ID: "m2", ContextID: "c1", TaskID: "t1", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("At it")}},
		},
		Artifacts: []a2a.Artifact{{
			ID: "a1", Name: "Answer", Description: "All of it", Parts: []a2a.Part{a2a.TextPart("Hi"), a2a.TextPart("")},
			Metadata: a2a.Object(`{}`), Extensions: []string{"https://example.com/ext/1"},
		}},
		History:  []*a2a.Message{Message()},
		Metadata: a2a.Object(`{"m":1}`),
	}
}

// Events returns one event of each kind and state, by name.
func Events() map[string]a2a.Event {
	events := map[string]a2a.Event{
		"task":         {Task: Task()},
		"smallest":     {Task: &a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateSubmitted}}},
		"message":      {Message: Message()},
		"input waited": {Status: &a2a.StatusUpdate{TaskID: "t1", ContextID: "c1", Status: a2a.Status{State: a2a.StateAuthRequired, Time: noon}}},
		"artifact": {Artifact: &a2a.ArtifactUpdate{
			TaskID: "t1", ContextID: "c1", Artifact: Task().Artifacts[0], Append: true, LastChunk: true, Metadata: a2a.Object(`{"n":1}`),
		}},
		"chunk": {Artifact: &a2a.ArtifactUpdate{
			TaskID: "t1", ContextID: "c1", Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart("Hi")}},
		}},
	}
	for state := a2a.StateSubmitted; state <= a2a.StateRejected; state++ {
		events[state.String()] = a2a.Event{Status: &a2a.StatusUpdate{
			TaskID: "t1", ContextID: "c1",
			Status:   a2a.Status{State: state, Time: noon, Message: Task().Status.Message},
			Metadata: a2a.Object(`{"n":1}`),
		}}
	}
	return events
}
