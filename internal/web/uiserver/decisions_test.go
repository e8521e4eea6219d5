// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

// TestAgentsThatStallDoNotStopOthers opens many links to agents of one namespace that do not answer. Only some of them are called at a
// time, and the link of another namespace is served.
func TestAgentsThatStallDoNotStopOthers(t *testing.T) {
	const people = 200
	called := make(chan struct{}, people)
	s := &Server{options: Options{Log: logr.Discard(), Connect: func(ctx context.Context, p *AsPerson) (*client.Client, error) {
		if p.Namespace == "good" {
			return nil, ErrNoAgent
		}
		called <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}}
	slots := fairslots.New[string](fairslots.Options{Slots: decisionSlots, PerTenant: decisionSlotsOfOne, Waiting: decisionsWaiting})
	mux := http.NewServeMux()
	mux.Handle("GET /approvals/{namespace}/{name}/{task}", s.inTurn(slots, s.showRequest))
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	open := func(ctx context.Context, namespace string) int {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/approvals/"+namespace+"/agent/t?owner=o", http.NoBody))
		return w.Code
	}
	for range people {
		group.Go(func() { open(ctx, "bad") })
	}
	for range decisionSlotsOfOne {
		<-called
	}
	if got := open(t.Context(), "good"); got != http.StatusForbidden {
		t.Errorf("the link of another namespace gets %d", got)
	}
	if n := len(called); n > 0 {
		t.Errorf("%d agents more than %d are called at a time", n, decisionSlotsOfOne)
	}
	cancel()
	group.Wait()
}
