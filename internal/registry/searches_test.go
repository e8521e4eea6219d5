// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestSearchesOfOneCallerAreLimited(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	s := newSearches(now)
	busy, other := caller(t, "busy", nil), caller(t, "other", nil)
	for range searchRate.Burst {
		if !s.admit(httptest.NewRecorder(), &busy) {
			t.Fatal("a search within the limit is refused")
		}
	}
	refused := httptest.NewRecorder()
	if s.admit(refused, &busy) || refused.Code != http.StatusTooManyRequests || refused.Header().Get("Retry-After") == "" {
		t.Errorf("a search beyond the limit = %d, want 429 with Retry-After", refused.Code)
	}
	if !s.admit(httptest.NewRecorder(), &other) {
		t.Error("a search of another caller is refused")
	}
	now.SetTime(time.Unix(1, 0))
	if !s.admit(httptest.NewRecorder(), &busy) {
		t.Error("a search a second later is refused")
	}
}

func TestSearchesAtATimeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearches(testclock.NewFakePassiveClock(time.Now()))
		for range cap(s.slots) {
			s.slots <- struct{}{}
		}
		w := httptest.NewRecorder()
		ran := false
		var refused *problem
		err := s.run(t.Context(), w, func() { ran = true })
		if !errors.As(err, &refused) || refused.status != http.StatusServiceUnavailable || ran || w.Header().Get("Retry-After") == "" {
			t.Errorf("run() without a slot = %v, ran %t; want 503 with Retry-After", err, ran)
		}
		<-s.slots
		if err := s.run(t.Context(), w, func() { ran = true }); err != nil || !ran {
			t.Errorf("run() with a slot = %v, ran %t", err, ran)
		}
	})
}
