// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// readiness is a readyHold with an agent that begins to listen when a test sets listens.
type readiness struct {
	hold     readyHold
	listens  atomic.Bool
	draining chan struct{}
}

func (r *readiness) ask(ctx context.Context, query string) error {
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, sidecarconfig.ReadyzPath+query, nil)
	return r.hold.wait(request, func(context.Context) error {
		if !r.listens.Load() {
			return errors.New("agent does not listen")
		}
		return nil
	}, r.draining)
}

func TestReadyIsHeldUntilTheAgentListens(t *testing.T) {
	for name, test := range map[string]struct {
		query string
		// listens is the time at which the agent begins to listen, and took the time at which
		// the response is expected.
		listens, took time.Duration
		ready         bool
	}{
		"at once":           {query: "?hold=9s", ready: true},
		"soon":              {query: "?hold=9s", listens: 3 * time.Second, took: 3 * time.Second, ready: true},
		"too late":          {query: "?hold=9s", listens: time.Minute, took: 9 * time.Second},
		"held for too long": {query: "?hold=1h", listens: time.Hour, took: maxReadyHold},
		"not asked to":      {listens: 3 * time.Second},
		"invalid time":      {query: "?hold=soon", listens: 3 * time.Second},
		"negative time":     {query: "?hold=-9s", listens: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &readiness{draining: make(chan struct{})}
				time.AfterFunc(test.listens, func() { r.listens.Store(true) })
				if test.listens == 0 {
					synctest.Wait()
				}
				began := time.Now()
				err := r.ask(t.Context(), test.query)
				if took := time.Since(began); took < test.took || took > test.took+2*readyPollInterval || (err == nil) != test.ready {
					t.Errorf("answered %v after %v, want after %v", err, took, test.took)
				}
			})
		})
	}
}

func TestReadyIsNotHeldAfterTheFirstTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &readiness{draining: make(chan struct{})}
		r.listens.Store(true)
		if err := r.ask(t.Context(), "?hold=9s"); err != nil {
			t.Fatal(err)
		}
		r.listens.Store(false)
		began := time.Now()
		if err := r.ask(t.Context(), "?hold=9s"); err == nil || time.Since(began) > 0 {
			t.Errorf("a failure is answered after %v: %v", time.Since(began), err)
		}
	})
}

func TestHeldProbesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &readiness{draining: make(chan struct{})}
		answers := make(chan error, 2*maxReadyHeld)
		for range 2 * maxReadyHeld {
			go func() { answers <- r.ask(t.Context(), "?hold=9s") }()
		}
		synctest.Wait()
		if len(answers) != maxReadyHeld {
			t.Errorf("%d of %d answers are held", cap(answers)-len(answers), cap(answers))
		}
		close(r.draining)
		synctest.Wait()
		if len(answers) != cap(answers) || r.hold.held.Load() != 0 {
			t.Errorf("a drain leaves %d answers", cap(answers)-len(answers))
		}
	})
}

func TestHeldProbeEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &readiness{draining: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := r.ask(ctx, "?hold=9s"); err == nil || time.Since(began) != time.Second {
			t.Errorf("answered %v after %v", err, time.Since(began))
		}
	})
}
