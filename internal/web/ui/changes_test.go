// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// watchedRegistry is a fake registry whose watches send nothing. Each watch sends its
// context to began.
type watchedRegistry struct{ began chan context.Context }

func (*watchedRegistry) Search(context.Context, registryapi.Query) (*registryapi.PageOf[Listed], error) {
	return &registryapi.PageOf[Listed]{}, nil
}

func (*watchedRegistry) Agent(context.Context, string, string) (*registryapi.Agent, error) {
	return nil, &PageError{Message: "no such agent"}
}

func (*watchedRegistry) Card(context.Context, string, string, string) ([]byte, error) {
	return []byte("{}"), nil
}

func (*watchedRegistry) Conditions(context.Context, string, string) ([]metav1.Condition, error) {
	return nil, nil
}

func (r *watchedRegistry) Watch(ctx context.Context, _ registryapi.Query, _ string, _ func(registryapi.Event) error) error {
	r.began <- ctx
	<-ctx.Done()
	return ctx.Err()
}

func newTestChanges(t *testing.T, viewers, streams, perViewer int) (*changes, *watchedRegistry) {
	t.Helper()
	r := &watchedRegistry{began: make(chan context.Context, viewers+streams)}
	ctx, cancel := context.WithCancel(t.Context())
	c := newChanges(ctx, Options{Registry: r, MaxViewers: viewers, MaxStreams: streams, MaxStreamsPerViewer: perViewer, Now: time.Now})
	t.Cleanup(func() { cancel(); c.running.Wait() })
	return c, r
}

func TestAPageOfAnAgentReceivesOnlyItsChanges(t *testing.T) {
	f := &feed{watchers: map[*watcher]struct{}{}}
	shows, other, list := f.add("team/echo"), f.add("team/other"), f.add("")
	f.notify("team/echo")
	for w, want := range map[*watcher]bool{shows: true, other: false, list: true} {
		if got := f.take(w).Changed; got != want || (len(w.wake) == 1) != want {
			t.Errorf("after a change of team/echo, the page of %q has changed: %t, is woken: %t", w.agent, got, len(w.wake) == 1)
		}
	}
}

func TestPagesOfOneReaderShareAWatchAndPagesAreBounded(t *testing.T) {
	c, r := newTestChanges(t, 2, 3, 3)
	for _, key := range []string{"jane", "jane", "john"} {
		if _, _, ok := c.open(t.Context(), key, ""); !ok {
			t.Fatalf("a page of %s is refused", key)
		}
	}
	if _, _, ok := c.open(t.Context(), "jane", ""); ok {
		t.Error("a fourth page is accepted")
	}
	<-r.began
	<-r.began
	if len(c.feeds) != 2 || len(r.began) != 0 {
		t.Errorf("there are %d feeds and %d further watches", len(c.feeds), len(r.began))
	}
}

func TestAReaderWithTheMostPagesLeavesPagesToOthers(t *testing.T) {
	c, _ := newTestChanges(t, 2, 10, 3)
	var f *feed
	var w *watcher
	for i := range 10 {
		opened, page, ok := c.open(t.Context(), "jane", "")
		if ok != (i < 3) {
			t.Fatalf("page %d of jane: accepted is %t", i+1, ok)
		}
		if ok {
			f, w = opened, page
		}
	}
	if _, _, ok := c.open(t.Context(), "john", ""); !ok {
		t.Error("the first page of john is refused")
	}
	c.close("jane", f, w)
	if _, _, ok := c.open(t.Context(), "jane", ""); !ok {
		t.Error("jane has closed a page, and the next one is refused")
	}
}

// Readers with as many pages as they may have leave room for the first page of each other reader.
func TestReadersWithManyPagesLeavePagesToOthers(t *testing.T) {
	const viewers, streams = 20, 50
	c, _ := newTestChanges(t, viewers, streams, 20)
	opened := 0
	for i := range 10 {
		for range 20 {
			if _, _, ok := c.open(t.Context(), fmt.Sprint("busy-", i), ""); ok {
				opened++
			}
		}
	}
	if opened < streams-viewers {
		t.Errorf("ten readers have %d pages together", opened)
	}
	for i := range viewers - 10 {
		if _, _, ok := c.open(t.Context(), fmt.Sprint("person-", i), ""); !ok {
			t.Errorf("the first page of reader %d is refused", 11+i)
		}
	}
	if c.streams > streams {
		t.Errorf("%d pages are open", c.streams)
	}
}

func TestANewReaderReplacesTheWatchOfAReaderWithoutPages(t *testing.T) {
	c, r := newTestChanges(t, 1, 10, 10)
	f, w, _ := c.open(t.Context(), "jane", "")
	first := <-r.began
	if _, _, ok := c.open(t.Context(), "john", ""); ok {
		t.Fatal("the watch of an open page is ended")
	}
	c.close("jane", f, w)
	if again, _, _ := c.open(t.Context(), "jane", ""); again != f || first.Err() != nil {
		t.Error("the next page of the same reader has another watch")
	} else {
		for w := range f.watchers {
			c.close("jane", f, w)
		}
	}
	if _, _, ok := c.open(t.Context(), "john", ""); !ok {
		t.Fatal("the new reader is refused")
	}
	<-first.Done()
	<-r.began
}
