// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// A fold that Resume returns after any event reaches the same task as the original
// fold, and changes no Task that was returned before.
func TestResume(t *testing.T) {
	origin := store.Origin{ContextID: "c", Dialect: a2a.DialectV01}
	one := store.NewFold("t", origin)
	for i, e := range sequence() {
		before := one.Task()
		other := store.Resume(before)
		one.Apply(&e)
		copied := e
		if e.Artifact != nil {
			update := *e.Artifact
			copied.Artifact = &update
		}
		other.Apply(&copied)
		if diff := cmp.Diff(one.Task(), other.Task()); diff != "" {
			t.Errorf("event %d (-went on +taken up):\n%s", i, diff)
		}
		if one.Size() != other.Size() {
			t.Errorf("event %d: size %d, taken up %d", i, one.Size(), other.Size())
		}
		if e.Artifact != nil && e.Artifact.Index != copied.Artifact.Index {
			t.Errorf("event %d: place %d, taken up %d", i, e.Artifact.Index, copied.Artifact.Index)
		}
		again := store.Resume(before)
		again.Apply(&a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "a0", Parts: []a2a.Part{a2a.TextPart("other")}}, Append: true,
		}})
		if diff := cmp.Diff(one.Task(), other.Task()); diff != "" {
			t.Errorf("event %d: one fold wrote into another (-want +got):\n%s", i, diff)
		}
	}
}

func sequence() []a2a.Event {
	said := &a2a.Message{ID: "s", Parts: []a2a.Part{a2a.TextPart("which?")}}
	events := []a2a.Event{
		{Message: &a2a.Message{ID: "m", Parts: []a2a.Part{a2a.TextPart("hi")}}},
		{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}, Metadata: a2a.Object(`{"a":1}`), Note: "note"}},
	}
	for i := range 12 {
		events = append(events, a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "a" + strconv.Itoa(i%10), Name: "n", Metadata: a2a.Object(`{"i":` + strconv.Itoa(i) + `}`), Parts: []a2a.Part{a2a.TextPart("x")}},
			Append:   i != 11,
		}})
	}
	return append(events,
		a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired, Message: said}, Metadata: a2a.Object(`{"b":2}`)}},
		a2a.Event{Message: &a2a.Message{ID: "m2"}},
		a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted, Message: said}}},
	)
}

// TestSmallUpdatesOfLargeFields checks that an update of an artifact does not measure all of its description and extensions.
func TestSmallUpdatesOfLargeFields(t *testing.T) {
	large := a2a.Artifact{ID: "a", Description: strings.Repeat("x", 2<<20), Extensions: make([]string, 100_000)}
	f := store.NewFold("t", store.Origin{})
	f.Apply(&a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: large}})
	update := a2a.Artifact{ID: "a", Name: "n", Parts: []a2a.Part{a2a.TextPart("x")}}
	began := time.Now()
	for range 20_000 {
		f.Apply(&a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: update, Append: true, JoinText: true}})
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("20,000 updates took %v", took)
	}
	if got, want := f.Size(), f.Task().Size(); got != want {
		t.Errorf("Size() = %d, want %d", got, want)
	}
}
