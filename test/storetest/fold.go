// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func texts(texts ...string) []a2a.Part {
	parts := make([]a2a.Part, 0, len(texts))
	for _, s := range texts {
		parts = append(parts, a2a.TextPart(s))
	}
	return parts
}

// foldCase has events, and the fields of the task after these events. history contains the
// ids of messages.
type foldCase struct {
	events    []a2a.Event
	status    a2a.Status
	artifacts []a2a.Artifact
	history   []string
	metadata  string
	note      string
}

func fold(t *testing.T, s store.Store) {
	submitted := a2a.Status{State: a2a.StateSubmitted}
	joined := func(u a2a.ArtifactUpdate) a2a.Event {
		u.JoinText = true
		return a2a.Event{Artifact: &u}
	}
	update := func(u a2a.ArtifactUpdate) a2a.Event { return a2a.Event{Artifact: &u} }
	one, two := Message("s1", "one"), Message("s2", "two")
	tests := map[string]foldCase{
		"append makes parts": {
			events:    []a2a.Event{Chunk("a", "x"), Chunk("a", "y")},
			status:    submitted,
			artifacts: []a2a.Artifact{{ID: "a", Parts: texts("x", "y")}},
			history:   []string{"m1"},
		},
		"update without append replaces": {
			events: []a2a.Event{
				Chunk("a", "x"), Chunk("b", "z"),
				update(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Name: "n", Parts: texts("new")}}),
			},
			status:    submitted,
			artifacts: []a2a.Artifact{{ID: "a", Name: "n", Parts: texts("new")}, {ID: "b", Parts: texts("z")}},
			history:   []string{"m1"},
		},
		"append after a replacement does not touch its event": {
			events: []a2a.Event{
				update(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: texts("x")}}), Chunk("a", "y"), Chunk("a", "z"),
			},
			status:    submitted,
			artifacts: []a2a.Artifact{{ID: "a", Parts: texts("x", "y", "z")}},
			history:   []string{"m1"},
		},
		"joined text is one part": {
			events: []a2a.Event{
				joined(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: texts("x")}}),
				joined(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: texts("y")}, Append: true}),
				joined(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{{Content: a2a.ContentURL, URL: "u"}}}, Append: true}),
				joined(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: texts("z")}, Append: true}),
				joined(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: texts("")}, Append: true, LastChunk: true}),
			},
			status: submitted,
			artifacts: []a2a.Artifact{{
				ID: "a", Parts: []a2a.Part{a2a.TextPart("xy"), {Content: a2a.ContentURL, URL: "u"}, a2a.TextPart("z")},
			}},
			history: []string{"m1"},
		},
		"text with metadata is not joined": {
			events: []a2a.Event{
				joined(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: texts("x")}}),
				joined(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{
					{Content: a2a.ContentText, Text: "y", Metadata: a2a.Object(`{"k":1}`)},
				}}, Append: true}),
			},
			status: submitted,
			artifacts: []a2a.Artifact{{ID: "a", Parts: []a2a.Part{
				a2a.TextPart("x"), {Content: a2a.ContentText, Text: "y", Metadata: a2a.Object(`{"k":1}`)},
			}}},
			history: []string{"m1"},
		},
		"metadata of an artifact adds up": {
			events: []a2a.Event{
				update(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Metadata: a2a.Object(`{"x":1,"y":2}`)}}),
				update(a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Metadata: a2a.Object(`{"y":3}`)}, Append: true}),
			},
			status:    submitted,
			artifacts: []a2a.Artifact{{ID: "a", Metadata: a2a.Object(`{"x":1,"y":3}`)}},
			history:   []string{"m1"},
		},
		"old status message moves into the history": {
			events:  []a2a.Event{Status(a2a.StateWorking, one), Status(a2a.StateWorking, nil), Status(a2a.StateCompleted, two)},
			status:  a2a.Status{State: a2a.StateCompleted, Message: two},
			history: []string{"m1", "s1"},
		},
		"repeated status message stays out of the history": {
			events:  []a2a.Event{Status(a2a.StateWorking, one), Status(a2a.StateCompleted, one)},
			status:  a2a.Status{State: a2a.StateCompleted, Message: one},
			history: []string{"m1"},
		},
		"message of the client goes into the history behind what it answers": {
			events:  []a2a.Event{Status(a2a.StateInputRequired, one), {Message: Message("m2", "more")}, Status(a2a.StateWorking, nil)},
			status:  a2a.Status{State: a2a.StateWorking},
			history: []string{"m1", "s1", "m2"},
		},
		"metadata of statuses adds up": {
			events: []a2a.Event{
				{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}, Metadata: a2a.Object(`{"a":1,"b":{"c":2}}`)}},
				{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted}, Metadata: a2a.Object(`{"a":2}`)}},
			},
			status:   a2a.Status{State: a2a.StateCompleted},
			history:  []string{"m1"},
			metadata: `{"b":{"c":2},"a":2}`,
		},
		"metadata of statuses adds up with other escapes of a name": {
			events: []a2a.Event{
				{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}, Metadata: a2a.Object(`{"\u00e4":1,"b":2}`)}},
				{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted}, Metadata: a2a.Object(`{"ä":3}`)}},
			},
			status:   a2a.Status{State: a2a.StateCompleted},
			history:  []string{"m1"},
			metadata: `{"b":2,"ä":3}`,
		},
		"the last note of the backend is kept": {
			events: []a2a.Event{
				{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}, Note: "one"}},
				{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}, Note: "two"}},
				Status(a2a.StateCompleted, nil),
			},
			status:  a2a.Status{State: a2a.StateCompleted},
			history: []string{"m1"},
			note:    "two",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			log := create(t, s, store.Key{Owner: "fold", TaskID: name})
			add(t, log, 2, tt.events...)
			tt.check(t, task(t, log).Task)
		})
	}
	t.Run("many artifacts keep their places", func(t *testing.T) {
		log := create(t, s, store.Key{Owner: "fold", TaskID: "many"})
		var want []a2a.Artifact
		for i := range 50 {
			add(t, log, uint64(i)+2, Chunk(strconv.Itoa(i), "x"))
			want = append(want, a2a.Artifact{ID: strconv.Itoa(i), Parts: texts("x", "y")})
		}
		for i := range 50 {
			add(t, log, uint64(i)+52, Chunk(strconv.Itoa(49-i), "y"))
		}
		if diff := cmp.Diff(want, task(t, log).Task.Artifacts); diff != "" {
			t.Errorf("artifacts (-want +got):\n%s", diff)
		}
	})
}

func (tt foldCase) check(t *testing.T, got *a2a.Task) {
	t.Helper()
	var history []string
	for _, m := range got.History {
		history = append(history, m.ID)
	}
	if diff := cmp.Diff(tt.status, got.Status, ignoreTime); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tt.artifacts, got.Artifacts); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tt.history, history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if got.Note != tt.note {
		t.Errorf("note = %q, want %q", got.Note, tt.note)
	}
	if string(got.Metadata) != tt.metadata {
		t.Errorf("metadata = %s, want %s", got.Metadata, tt.metadata)
	}
}
