// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var (
	alice = a2a.AccountingPrincipal{Principal: "alice"}
	bob   = a2a.AccountingPrincipal{Principal: "bob"}
)

// searchOf returns the outcome of a search that a caller sends to the only peer.
func searchOf(t *testing.T, f *Federation, caller a2a.AccountingPrincipal) Outcome {
	t.Helper()
	_, reports := mustSearch(t, f, Query{Search: search("x", 10, ""), Caller: caller}, local())
	return reports[0].Outcome
}

// A response that is too large is the fault of the query if many results were requested. If few were requested, it is
// the fault of the peer, whose circuit opens.
func TestResponsesThatAreTooLarge(t *testing.T) {
	for size, want := range map[int]State{100: {State: unknown}, 10: {State: unreachable, CircuitOpen: true, Error: "the response of the peer has more than 1048576 bytes"}} {
		west := newFakePeer(t, "west", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"results":[],"x":"`+strings.Repeat("x", maxResponse)+`"}`)
		})
		f := newFederation(t, west.line(""))
		for i := range breakerFailures {
			_, reports := mustSearch(t, f, Query{Search: search("x", size, ""), Caller: alice}, local())
			if reports[0].Outcome != ResponseTooLarge {
				t.Errorf("search %d for %d results: %s, want %s", i, size, reports[0].Outcome, ResponseTooLarge)
			}
		}
		if state := f.States()[0]; state.State != want.State || state.CircuitOpen != want.CircuitOpen || state.Error != want.Error {
			t.Errorf("after searches for %d results: %+v", size, state)
		}
	}
}

// A slow peer delays every second search by its whole timeout, and the others by a quarter of it.
func TestSlowPeersDelayEverySecondSearch(t *testing.T) {
	slow := make(chan struct{})
	west := newFakePeer(t, "west", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-slow:
			results(entry("urn:air:west.example:a:one"))(w, r)
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}
	})
	f := newFederation(t, west.line(", timeout: 200ms"))
	p := f.current.Load().peers[0]
	whole := p.Timeout.Duration
	for i, want := range []time.Duration{whole, whole / 4, whole} {
		if got := p.patience(); got != want {
			t.Errorf("search %d waits for %s, want %s", i, got, want)
		}
		if outcome := searchOf(t, f, alice); outcome != Timeout {
			t.Errorf("search %d: %s, want %s", i, outcome, Timeout)
		}
	}
	if state := f.States()[0]; !state.CircuitOpen || p.patience() != whole {
		t.Errorf("the probe of %+v waits for %s, want %s", state, p.patience(), whole)
	}
	close(slow)
	p.breaker = newPeer(p.Peer, "", nil).breaker // as after its time-out
	p.Timeout.Duration = time.Minute
	if outcome := searchOf(t, f, alice); outcome != Success || p.patience() != p.Timeout.Duration {
		t.Errorf("a peer that answers again: %s, the next search waits for %s", outcome, p.patience())
	}
}

// A peer that responds 429 does not count as failing: its circuit stays closed. It receives no search until the
// time in Retry-After, within bounds.
func TestAPeerThatLimitsSearchesGetsNoneForATime(t *testing.T) {
	now := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	for header, pause := range map[string]time.Duration{
		"":                              time.Second,
		"0":                             time.Second,
		"7":                             7 * time.Second,
		"Sun, 22 Nov 2026 20:00:05 GMT": 5 * time.Second,
		"Sun, 22 Nov 2026 19:00:00 GMT": time.Second,
		"999999999999999999999":         time.Second,
		"86400":                         time.Minute,
		"soon":                          time.Second,
		"-5":                            time.Second,
	} {
		t.Run(header, func(t *testing.T) {
			var idle atomic.Bool
			west := newFakePeer(t, "west", func(w http.ResponseWriter, r *http.Request) {
				if !idle.Load() {
					w.Header().Set("Retry-After", header)
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				results(entry("urn:air:west.example:a:one"))(w, r)
			})
			f := newFederation(t, west.line(""))
			c := testclock.NewFakePassiveClock(now)
			f.options.Clock = c
			for range breakerFailures + 1 {
				if outcome := searchOf(t, f, alice); outcome != Limited {
					t.Fatalf("a search of a busy peer: %s, want %s", outcome, Limited)
				}
			}
			if n := west.requests.Load(); n != 1 {
				t.Errorf("the peer got %d searches, want one", n)
			}
			c.SetTime(now.Add(pause - time.Millisecond))
			if outcome := searchOf(t, f, bob); outcome != Limited || west.requests.Load() != 1 {
				t.Errorf("before the end of the pause: %s after %d searches", outcome, west.requests.Load())
			}
			idle.Store(true)
			c.SetTime(now.Add(pause))
			if outcome := searchOf(t, f, bob); outcome != Success {
				t.Errorf("after the pause: %s", outcome)
			}
			if state := f.States()[0]; state.CircuitOpen || state.State != reachable {
				t.Errorf("state = %+v", state)
			}
		})
	}
}

func TestManyLimitedSearchesDoNotOpenTheCircuit(t *testing.T) {
	west := newFakePeer(t, "west", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	f := newFederation(t, west.line(""))
	c := testclock.NewFakePassiveClock(time.Now())
	f.options.Clock = c
	for i := range breakerFailures + 2 {
		c.SetTime(c.Now().Add(defaultPause))
		if outcome := searchOf(t, f, alice); outcome != Limited || west.requests.Load() != int64(i+1) {
			t.Errorf("search %d: %s after %d requests", i, outcome, west.requests.Load())
		}
	}
	if state := f.States()[0]; state.CircuitOpen {
		t.Errorf("state = %+v", state)
	}
}

// fill acquires all slots of the only peer for two callers.
func fill(t *testing.T, f *Federation) (release func()) {
	t.Helper()
	s := f.current.Load().peers[0].slots
	var releases []func()
	for _, name := range []string{"carol", "carol", "dave", "dave"} {
		release, ok := s.acquire(t.Context(), a2a.AccountingPrincipal{Principal: name}, time.Minute)
		if !ok {
			t.Fatal("a slot is taken")
		}
		releases = append(releases, release)
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

func TestAWaitForASlotIsNoFailureOfThePeer(t *testing.T) {
	west := newFakePeer(t, "west", results(entry("urn:air:west.example:a:one")))
	f := newFederation(t, west.line(", timeout: 100ms"))
	release := fill(t, f)
	for i := range breakerFailures + 1 {
		if outcome := searchOf(t, f, alice); outcome != Limited {
			t.Errorf("search %d: %s, want %s", i, outcome, Limited)
		}
	}
	if state := f.States()[0]; state.CircuitOpen || state.State != unknown || west.requests.Load() != 0 {
		t.Errorf("state = %+v after %d requests", state, west.requests.Load())
	}
	release()
	if s := f.current.Load().peers[0].slots; len(s.callers) != 0 || len(s.all) != 0 {
		t.Errorf("%d callers and %d slots after all searches", len(s.callers), len(s.all))
	}
}

func TestTheTimeoutOfAPeerBeginsWithTheSlot(t *testing.T) {
	const timeout, waits, takes = 2 * time.Second, 800 * time.Millisecond, 1400 * time.Millisecond
	west := newFakePeer(t, "west", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(takes):
			_, _ = io.WriteString(w, `{"results":[]}`)
		case <-r.Context().Done():
		}
	})
	f := newFederation(t, west.line(", timeout: "+timeout.String()))
	time.AfterFunc(waits, fill(t, f))
	if outcome := searchOf(t, f, alice); outcome != Success {
		t.Errorf("a search that waited %s for a slot and %s for the peer: %s", waits, takes, outcome)
	}
}

func TestACallerLeavesSlotsRateAndMemoryToOthers(t *testing.T) {
	west := newFakePeer(t, "west", results(entry("urn:air:west.example:a:one")))
	f := newFederation(t, west.line(", timeout: 10s"))
	slots := f.current.Load().peers[0].slots
	for range maxCallerConcurrent {
		release, ok := slots.acquire(t.Context(), alice, time.Minute)
		if !ok {
			t.Fatal("a slot is taken")
		}
		defer release()
	}
	if _, ok := slots.acquire(t.Context(), alice, time.Millisecond); ok {
		t.Errorf("a caller has more than %d slots", maxCallerConcurrent)
	}
	share := int(maxMemory / 2 / searchMemory)
	release, ok := f.reserve(t.Context(), alice, share)
	if !ok {
		t.Fatal("a caller does not get half of the memory")
	}
	defer release()
	if _, ok := f.reserve(t.Context(), alice, 1); ok {
		t.Error("a caller gets more than half of the memory")
	}
	bucket := f.current.Load().peers[0].callers.Bucket(alice, time.Now())
	for n := 0; bucket.Take(time.Now()); n++ {
		if n == peerRate.Burst {
			t.Fatal("a caller has the whole rate of the peer")
		}
		f.current.Load().peers[0].bucket.Take(time.Now())
	}
	if outcome := searchOf(t, f, bob); outcome != Success {
		t.Errorf("the search of another caller: %s", outcome)
	}
}
