// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// fakeRemote serves the requests for cards, and reads Agents and Secrets from a fake client.
type fakeRemote struct {
	client.Client
	t *testing.T

	mu       sync.Mutex
	requests []*http.Request
	answer   func(*http.Request) (*http.Response, error)
}

func newFakeRemote(t *testing.T, objects ...client.Object) *fakeRemote {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, a2av1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return &fakeRemote{t: t, Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
}

func (e *fakeRemote) source() *Source {
	return New(Options{Agents: e, Credentials: NewCredentials(e, e, clock.RealClock{}), Guard: e, Clock: clock.RealClock{}})
}

// RoundTrip implements http.RoundTripper.
func (e *fakeRemote) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, r)
	return e.answer(r)
}

func (e *fakeRemote) setAnswer(answer func(*http.Request) (*http.Response, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// paths returns the paths of the requests since the last call of requestCount.
func (e *fakeRemote) paths() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var paths []string
	for _, r := range e.requests {
		paths = append(paths, r.URL.Path)
	}
	return paths
}

// requestCount returns the number of requests since the last call.
func (e *fakeRemote) requestCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.requests)
	e.requests = nil
	return n
}

func status(code int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

const echoCard = `{"name":"Echo","url":"https://echo.example/","protocolVersion":"0.3.0","skills":[{"id":"echo"}]}`

func remoteAgent(change ...func(*a2av1alpha1.Agent)) *a2av1alpha1.Agent {
	a := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"},
		Spec:       a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://echo.example", RefreshInterval: "1m"}},
	}
	for _, c := range change {
		c(a)
	}
	return a
}

func TestCardsAreReadOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := remoteAgent()
		e := newFakeRemote(t, a)
		e.setAnswer(status(200, echoCard))
		s := e.source()
		ctx, cancel := context.WithCancel(t.Context())
		var news atomic.Int64
		var all sync.WaitGroup
		all.Go(func() { _ = s.Start(ctx) })
		all.Go(func() {
			for {
				select {
				case <-s.Changes():
					news.Add(1)
				case <-ctx.Done():
					return
				}
			}
		})
		expect := func(what string, asked, changed int) {
			t.Helper()
			synctest.Wait()
			if got, news := e.requestCount(), int(news.Swap(0)); got != asked || news != changed {
				t.Errorf("%s: %d requests, %d changes, want %d and %d", what, got, news, asked, changed)
			}
		}
		expect("before the first LastRead", 0, 0)
		if s.LastRead(a) != nil {
			t.Error("LastRead() has a result before the first read")
		}
		expect("first read", 1, 1)
		if known := s.LastRead(a); known == nil || known.Failure != nil || decoded(t, known).Name != "Echo" {
			t.Fatalf("LastRead() = %+v", known)
		}
		key := client.ObjectKeyFromObject(a)
		if read, stale := s.LastSuccess(key); !read.Equal(time.Now()) || stale.Sub(read).Round(time.Second) != 66*time.Second+time.Hour {
			t.Errorf("LastSuccess() = %v, %v after the first read, want %v, and an hour after the latest next read", read, stale, time.Now())
		}
		time.Sleep(67 * time.Second)
		expect("refresh without a change", 1, 0)

		e.setAnswer(status(500, ""))
		time.Sleep(66 * time.Second)
		// Each read tries both well-known paths. The delay doubles after each failed read.
		synctest.Wait()
		if known := s.LastRead(a); known.Failure == nil || known.Card == nil || decoded(t, known).Name != "Echo" {
			t.Fatalf("a failed read drops the card: %+v", known)
		}
		e.requestCount()
		news.Store(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		if read, stale := s.LastSuccess(key); time.Since(read) < time.Hour || stale.Sub(read).Round(time.Second) != 66*time.Second+time.Hour {
			t.Errorf("LastSuccess() = %v, %v after an hour of failures, want those of the last success", read, stale)
		}
		if asked := e.requestCount(); asked < 2*10 || asked > 2*30 || news.Load() != 0 {
			t.Errorf("an hour of failures: %d requests, %d changes", asked, news.Load())
		}
		e.setAnswer(status(200, strings.Replace(echoCard, `"Echo"`, `"Echo 2"`, 1)))
		time.Sleep(retryMost)
		synctest.Wait()
		if known := s.LastRead(a); known.Failure != nil || decoded(t, known).Name != "Echo 2" || news.Load() != 1 {
			t.Errorf("after the recovery: %+v, %d changes", known, news.Load())
		}

		e.requestCount()
		news.Store(0)
		edited := a.DeepCopy()
		edited.Spec.Remote.CardPath = "/card"
		if err := e.Update(ctx, edited); err != nil {
			t.Fatal(err)
		}
		time.Sleep(67 * time.Second)
		synctest.Wait()
		if paths := e.paths(); len(paths) == 0 || slices.Contains(paths, "/card") {
			t.Errorf("while the operator does not apply the edited spec, %v is read", paths)
		}
		e.requestCount()
		if s.LastRead(edited) != nil {
			t.Error("LastRead() returns the result of the former spec")
		}
		expect("edited spec", 1, 1)

		if err := e.Delete(ctx, edited); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		expect("deleted Agent", 0, 0)
		if len(s.entries) != 0 {
			t.Errorf("entries of deleted Agents: %v", s.entries)
		}
		cancel()
		all.Wait()
	})
}

// TestOneCardIsParsedAtATime checks that a card waits while another one is parsed. Many
// hostile cards that are parsed at the same time would need more memory than the operator
// has.
func TestOneCardIsParsedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := remoteAgent()
		e := newFakeRemote(t, a)
		e.setAnswer(status(200, echoCard))
		reader := cardReader{credentials: NewCredentials(e, e, clock.RealClock{}), guard: e, parsing: newParsing()}
		var read sync.WaitGroup
		var ended atomic.Bool
		parsed, err := reader.parsing.Acquire(t.Context(), "other") // another card is parsed
		if err != nil {
			t.Fatal(err)
		}
		read.Go(func() {
			if result, err := reader.readCard(t.Context(), a); err != nil || result.Card == nil {
				t.Errorf("readCard() = %v", err)
			}
			ended.Store(true)
		})
		synctest.Wait()
		if ended.Load() || e.requestCount() != 1 {
			t.Error("two cards are parsed at a time")
		}
		parsed()
		read.Wait()
		if _, err := reader.parsing.Acquire(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		bounded, cancel := context.WithTimeout(t.Context(), normalTimeout)
		defer cancel()
		if result, err := reader.readCard(bounded, a); err == nil || result.Failure.Reason != a2av1alpha1.ReasonRemoteUnreachable {
			t.Errorf("readCard() = %+v, %v", result, err)
		}
	})
}

// TestNamespacesTakeTurnsToParse reads cards of one namespace with all its workers, and then a card of another one, which
// is parsed after one card of the first namespace at most.
func TestNamespacesTakeTurnsToParse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeRemote(t)
		e.setAnswer(status(200, echoCard))
		reader := cardReader{credentials: NewCredentials(e, e, clock.RealClock{}), guard: e, parsing: newParsing()}
		parsed, err := reader.parsing.Acquire(t.Context(), "hostile")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		var order []string
		read := func(namespace string) {
			a := remoteAgent(func(a *a2av1alpha1.Agent) { a.Namespace = namespace })
			all.Go(func() {
				if _, err := reader.readCard(t.Context(), a); err != nil {
					t.Errorf("card of %s: %v", namespace, err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, namespace)
			})
			synctest.Wait()
		}
		for range 2 * (workers - 1) {
			read("hostile")
		}
		read("quiet")
		parsed()
		all.Wait()
		if at := slices.Index(order, "quiet"); at > 2 {
			t.Errorf("the card of another namespace was parsed after %d cards of the first one", at)
		}
	})
}

// TestResultsOfDeletedAgentsAreDropped checks that AgentDeleted drops a result before the
// next read, which may be a day away. Until then, the result would take memory.
func TestResultsOfDeletedAgentsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := remoteAgent(func(a *a2av1alpha1.Agent) { a.Name, a.Spec.Remote.RefreshInterval = "kept", "24h" })
		e := newFakeRemote(t, kept)
		e.setAnswer(status(200, echoCard))
		s := e.source()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = s.Start(ctx) })
		all.Go(func() {
			for {
				select {
				case <-s.Changes():
				case <-ctx.Done():
					return
				}
			}
		})
		s.LastRead(kept)
		for i := range 100 {
			a := remoteAgent(func(a *a2av1alpha1.Agent) {
				a.Name, a.Spec.Remote.RefreshInterval = fmt.Sprintf("echo-%d", i), "24h"
			})
			if err := e.Create(ctx, a); err != nil {
				t.Fatal(err)
			}
			s.LastRead(a)
			synctest.Wait()
			if err := e.Delete(ctx, a); err != nil {
				t.Fatal(err)
			}
			s.AgentDeleted(client.ObjectKeyFromObject(a))
		}
		s.AgentDeleted(client.ObjectKeyFromObject(kept)) // this Agent exists, so its result stays
		synctest.Wait()
		if len(s.entries) != 1 || s.entries[client.ObjectKeyFromObject(kept)].result == nil {
			t.Errorf("%d results are stored for 1 Agent", len(s.entries))
		}
		cancel()
		all.Wait()
	})
}

// TestTheTimeFromWhichACardIsStaleFollowsItsInterval: a card that is read once a day must
// not count as stale before its next read is due.
func TestTheTimeFromWhichACardIsStaleFollowsItsInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{"10s": time.Hour + 11*time.Second, "": time.Hour + 330*time.Second, "24h": 27*time.Hour + 24*time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			a := remoteAgent(func(a *a2av1alpha1.Agent) { a.Spec.Remote.RefreshInterval = a2av1alpha1.Duration(text) })
			e := newFakeRemote(t, a)
			e.setAnswer(status(200, echoCard))
			s := e.source()
			key := client.ObjectKeyFromObject(a)
			if read, stale := s.LastSuccess(key); !read.IsZero() || !stale.IsZero() {
				t.Errorf("LastSuccess() = %v, %v before a read", read, stale)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { _ = s.Start(ctx) })
			s.LastRead(a)
			<-s.Changes()
			if read, stale := s.LastSuccess(key); read.IsZero() || stale.Sub(read).Round(time.Second) != want {
				t.Errorf("interval %q: the card is stale after %v, want %v", text, stale.Sub(read), want)
			}
			cancel()
			all.Wait()
		})
	}
}

func TestHangingAgentDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast := remoteAgent(), remoteAgent(func(a *a2av1alpha1.Agent) {
			a.Name, a.Spec.Remote.URL = "fast", "https://fast.example"
		})
		e := newFakeRemote(t, slow, fast)
		e.answer = nil
		guard := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "echo.example:443" {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}
			return status(200, strings.ReplaceAll(echoCard, "echo.example", "fast.example"))(r)
		})
		s := New(Options{Agents: e, Credentials: NewCredentials(e, guard, clock.RealClock{}), Guard: guard, Clock: clock.RealClock{}})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = s.Start(ctx) })
		s.LastRead(slow)
		s.LastRead(fast)
		if change := <-s.Changes(); change.Object.Name != "fast" {
			t.Errorf("first change is of %v", change.Object)
		}
		if change := <-s.Changes(); change.Object.Name != "echo" {
			t.Errorf("second change is of %v", change.Object)
		}
		if known := s.LastRead(slow); known.Failure.Reason != a2av1alpha1.ReasonRemoteUnreachable || !strings.Contains(known.Failure.Message, "no answer within 10s") {
			t.Errorf("failure %+v", known.Failure)
		}
		cancel()
		all.Wait()
	})
}

func TestManyHangingAgentsDelayNoOther(t *testing.T) {
	const hanging = 1000
	synctest.Test(t, func(t *testing.T) {
		host := func(name string) *a2av1alpha1.Agent {
			return remoteAgent(func(a *a2av1alpha1.Agent) { a.Name, a.Spec.Remote.URL = name, "https://"+name+".example" })
		}
		known, late := host("known"), host("late")
		all := []*a2av1alpha1.Agent{known, late}
		for i := range hanging {
			all = append(all, host(fmt.Sprintf("hangs-%d", i)))
		}
		e := newFakeRemote(t)
		for _, a := range all {
			if err := e.Create(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		asked, open, most := map[string][]time.Time{}, 0, 0
		guard := roundTripper(func(r *http.Request) (*http.Response, error) {
			name, _, _ := strings.Cut(r.URL.Host, ".")
			mu.Lock()
			asked[name] = append(asked[name], time.Now())
			open++
			most = max(most, open)
			mu.Unlock()
			defer func() { mu.Lock(); open--; mu.Unlock() }()
			if strings.HasPrefix(name, "hangs") {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}
			return status(200, strings.ReplaceAll(echoCard, "echo.example", name+".example"))(r)
		})
		s := New(Options{Agents: e, Credentials: NewCredentials(e, guard, clock.RealClock{}), Guard: guard, Clock: clock.RealClock{}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = s.Start(ctx) })
		running.Go(func() {
			for {
				select {
				case <-s.Changes():
				case <-ctx.Done():
					return
				}
			}
		})
		s.LastRead(known)
		synctest.Wait()
		for _, a := range all[2:] {
			s.LastRead(a)
		}
		began := time.Now()
		s.LastRead(late)
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if waited := asked["late"][0].Sub(began); waited > 90*time.Second {
			t.Errorf("an agent behind %d that hang is first read after %s", hanging, waited)
		}
		worst := time.Duration(0)
		for i, at := range asked["known"][1:] {
			worst = max(worst, at.Sub(asked["known"][i]))
		}
		// The agent is read once a minute. One read may be delayed by the first reads of new
		// agents.
		if len(asked["known"]) < 50 || worst > 2*time.Minute {
			t.Errorf("a known agent is read %d times in an hour, with a gap of %s", len(asked["known"]), worst)
		}
		for _, a := range all[2:] {
			if n := len(asked[a.Name]); n < 5 || n > 30 || s.entries[client.ObjectKeyFromObject(a)].result == nil {
				t.Fatalf("%s is read %d times in an hour", a.Name, n)
			}
		}
		t.Logf("%d agents hang: another waits %s for its first read and at most %s between two; %d concurrent connections", hanging, asked["late"][0].Sub(began), worst, most)
		cancel()
		mu.Unlock()
		running.Wait()
		mu.Lock()
	})
}

// TestHangingAgentsDelayNoOtherNamespace checks that the first read of an agent waits for no read of
// the hanging agents of another namespace.
func TestHangingAgentsDelayNoOtherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeRemote(t)
		var all []*a2av1alpha1.Agent
		for i := range 500 {
			all = append(all, remoteAgent(func(a *a2av1alpha1.Agent) {
				a.Namespace = "hostile"
				a.Name = fmt.Sprintf("hangs-%d", i)
				a.Spec.Remote.URL = "https://hangs.example"
			}))
		}
		quiet := remoteAgent(func(a *a2av1alpha1.Agent) { a.Namespace = "quiet" })
		for _, a := range append(all, quiet) {
			if err := e.Create(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		read := make(chan time.Time, 1)
		guard := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "hangs.example:443" {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}
			read <- time.Now()
			return status(200, echoCard)(r)
		})
		s := New(Options{Agents: e, Credentials: NewCredentials(e, guard, clock.RealClock{}), Guard: guard, Clock: clock.RealClock{}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = s.Start(ctx) })
		for _, a := range all {
			s.LastRead(a)
		}
		synctest.Wait()
		began := time.Now()
		s.LastRead(quiet)
		if waited := (<-read).Sub(began); waited != 0 {
			t.Errorf("the first read begins after %s", waited)
		}
		cancel()
		running.Wait()
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
