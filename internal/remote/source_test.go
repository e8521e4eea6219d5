// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// elsewhere plays every agent there is, and every Secret and Agent.
type elsewhere struct {
	client.Client
	t *testing.T

	mu       sync.Mutex
	requests []*http.Request
	answer   func(*http.Request) (*http.Response, error)
}

func newElsewhere(t *testing.T, objects ...client.Object) *elsewhere {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, a2av1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return &elsewhere{t: t, Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
}

func (e *elsewhere) source() *Source {
	return New(Options{Agents: e, Secrets: e, Guard: e})
}

// RoundTrip implements http.RoundTripper.
func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, r)
	return e.answer(r)
}

func (e *elsewhere) answers(answer func(*http.Request) (*http.Response, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// asked returns how many requests there were since it was called last.
func (e *elsewhere) asked() int {
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

// A card is read at once and then on its schedule, sooner after a failure; what
// was read stays; and who is to be told is told of news only.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := remoteAgent()
		e := newElsewhere(t, a)
		e.answers(status(200, echoCard))
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
		expect := func(what string, asked, told int) {
			t.Helper()
			synctest.Wait()
			if got, news := e.asked(), int(news.Swap(0)); got != asked || news != told {
				t.Errorf("%s: asked %d times, told %d, want %d and %d", what, got, news, asked, told)
			}
		}
		expect("nobody wants it", 0, 0)
		if s.Of(a) != nil {
			t.Error("something is known before it was asked for")
		}
		expect("at once", 1, 1)
		if known := s.Of(a); known == nil || known.Failure != nil || known.Card.Name != "Echo" {
			t.Fatalf("known: %+v", known)
		}
		time.Sleep(67 * time.Second)
		expect("again, and nothing is new", 1, 0)

		e.answers(status(500, ""))
		time.Sleep(66 * time.Second)
		// Both places of a card are tried by each look; the pauses double.
		synctest.Wait()
		if known := s.Of(a); known.Failure == nil || known.Card == nil || known.Card.Name != "Echo" {
			t.Fatalf("a card that was read is gone with a failure: %+v", known)
		}
		e.asked()
		news.Store(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		if asked := e.asked(); asked < 2*10 || asked > 2*30 || news.Load() != 0 {
			t.Errorf("in an hour of failures asked %d times, told %d", asked, news.Load())
		}
		e.answers(status(200, strings.Replace(echoCard, `"Echo"`, `"Echo 2"`, 1)))
		time.Sleep(retryMost)
		synctest.Wait()
		if known := s.Of(a); known.Failure != nil || known.Card.Name != "Echo 2" || news.Load() != 1 {
			t.Errorf("after it is back: %+v, told %d", known, news.Load())
		}

		e.asked()
		news.Store(0)
		edited := a.DeepCopy()
		edited.Spec.Remote.CardPath = "/card"
		if err := e.Update(ctx, edited); err != nil {
			t.Fatal(err)
		}
		if s.Of(edited) != nil {
			t.Error("what was known under another spec counts")
		}
		expect("an edit", 1, 1)

		if err := e.Delete(ctx, edited); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		expect("an Agent that is gone", 0, 0)
		if len(s.agents) != 0 {
			t.Errorf("what is gone is remembered: %v", s.agents)
		}
		cancel()
		all.Wait()
	})
}

// An agent that hangs holds nobody up.
func TestOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast := remoteAgent(), remoteAgent(func(a *a2av1alpha1.Agent) {
			a.Name, a.Spec.Remote.URL = "fast", "https://fast.example"
		})
		e := newElsewhere(t, slow, fast)
		e.answer = nil
		guard := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "echo.example:443" {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}
			return status(200, strings.ReplaceAll(echoCard, "echo.example", "fast.example"))(r)
		})
		s := New(Options{Agents: e, Secrets: e, Guard: guard})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = s.Start(ctx) })
		s.Of(slow)
		s.Of(fast)
		if change := <-s.Changes(); change.Object.Name != "fast" {
			t.Errorf("first news of %v", change.Object)
		}
		if change := <-s.Changes(); change.Object.Name != "echo" {
			t.Errorf("second news of %v", change.Object)
		}
		if known := s.Of(slow); known.Failure.Reason != a2av1alpha1.ReasonRemoteUnreachable || !strings.Contains(known.Failure.Message, "no answer within 10s") {
			t.Errorf("failure %+v", known.Failure)
		}
		cancel()
		all.Wait()
	})
}

// However many agents hang, others are looked at in time: one that is known, and
// one that comes after all of them.
func TestManyThatHang(t *testing.T) {
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
		e := newElsewhere(t)
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
		s := New(Options{Agents: e, Secrets: e, Guard: guard})
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
		s.Of(known)
		synctest.Wait()
		for _, a := range all[2:] {
			s.Of(a)
		}
		began := time.Now()
		s.Of(late)
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if waited := asked["late"][0].Sub(began); waited > 90*time.Second {
			t.Errorf("one that comes behind %d that hang is first looked at after %s", hanging, waited)
		}
		worst := time.Duration(0)
		for i, at := range asked["known"][1:] {
			worst = max(worst, at.Sub(asked["known"][i]))
		}
		// Every minute, and once behind those that are not known yet.
		if len(asked["known"]) < 50 || worst > 2*time.Minute {
			t.Errorf("a known one is looked at %d times in an hour, once after %s", len(asked["known"]), worst)
		}
		for _, a := range all[2:] {
			if n := len(asked[a.Name]); n < 5 || n > 30 || s.agents[client.ObjectKeyFromObject(a)].known == nil {
				t.Fatalf("%s is looked at %d times in an hour", a.Name, n)
			}
		}
		t.Logf("%d agents hang: another waits %s at first and %s between two looks; %d connections at once", hanging, asked["late"][0].Sub(began), worst, most)
		cancel()
		mu.Unlock()
		running.Wait()
		mu.Lock()
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
