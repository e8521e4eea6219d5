// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hook = "https://hooks.example.com/hook"

// fixture delivers to a receiver that the test controls, with a fake clock (synctest).
type fixture struct {
	*push.Pushes
	t       *testing.T
	options push.Options
	tasks   *storetest.Memory
	configs *memory.Pushes
	// answer returns the response of the receiver, by default status 200.
	answer func(r *http.Request) (*http.Response, error)
	start  time.Time
	log    bytes.Buffer

	mu       sync.Mutex
	received []request
	results  map[push.Result]int
	causes   map[push.Cause]int
}

// request is a request that the receiver got.
type request struct {
	header http.Header
	url    string
	body   string
	at     time.Duration
}

// event returns the number of the event.
func (r request) event() string {
	_, number, _ := strings.Cut(r.header.Get("X-A2A-Event-Id"), ":")
	return number
}

func withFixture(t *testing.T, options push.Options, test func(t *testing.T, b *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, options)
		test(t, b)
		b.stop()
	})
}

func newFixture(t *testing.T, options push.Options) *fixture {
	t.Helper()
	b := &fixture{
		t: t, tasks: storetest.NewMemory(memory.Options{}), configs: memory.NewPushes(memory.PushOptions{}), start: time.Now(),
		results: map[push.Result]int{}, causes: map[push.Cause]int{},
	}
	options.Tasks, options.Configs, options.Guard, options.Observer = b.tasks, b.configs, b, b
	options.Log = slog.New(slog.NewJSONHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if options.Random == nil {
		options.Random = func() float64 { return 1 }
	}
	b.options = options
	b.restart()
	return b
}

// restart stops the Pushes and starts another one with the same stores.
func (b *fixture) restart() {
	b.t.Helper()
	if b.Pushes != nil {
		b.stop()
	}
	p, err := push.New(b.options)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Pushes = p
	if err := p.Resume(b.t.Context()); err != nil {
		b.t.Fatalf("Resume() error = %v", err)
	}
}

func (b *fixture) stop() {
	ended, cancel := context.WithCancelCause(b.t.Context())
	cancel(errEndOfTest)
	_ = b.Drain(ended)
}

var errEndOfTest = errors.New("end of test")

// Check implements push.Guard.
func (b *fixture) Check(field, url string) error {
	if !strings.HasPrefix(url, "https://") {
		return a2a.InvalidParams(field, "must be an absolute https URL")
	}
	return nil
}

// RoundTrip implements push.Guard.
func (b *fixture) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.received = append(b.received, request{r.Header, r.URL.String(), string(body), time.Since(b.start)})
	answer := b.answer
	b.mu.Unlock()
	if answer == nil {
		return status(http.StatusOK)(r)
	}
	return answer(r)
}

func (b *fixture) Attempted(r push.Result) { b.mu.Lock(); defer b.mu.Unlock(); b.results[r]++ }
func (b *fixture) Abandoned(c push.Cause)  { b.mu.Lock(); defer b.mu.Unlock(); b.causes[c]++ }

// respond sets the response of the receiver from now on.
func (b *fixture) respond(answer func(*http.Request) (*http.Response, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

func status(code int, header ...string) func(*http.Request) (*http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("x"))}, nil
	}
}

var errNetwork = errors.New("connection refused")

func unreachable(*http.Request) (*http.Response, error) { return nil, errNetwork }

// stall blocks until the request is canceled, and then returns an error.
func stall(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// takeReceived waits until all goroutines wait, and returns the requests since the last call.
func (b *fixture) takeReceived() []request {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.received
	b.received = nil
	return all
}

// events returns the event numbers of the requests since the last call.
func (b *fixture) events() string {
	var all []string
	for _, r := range b.takeReceived() {
		all = append(all, r.event())
	}
	return strings.Join(all, " ")
}

func (b *fixture) wantEvents(events string) {
	b.t.Helper()
	if got := b.events(); got != events {
		b.t.Errorf("received events %q, want %q", got, events)
	}
}

// task is a task to which only the test appends. It is not safe for concurrent use.
type task struct {
	store.Log
	b   *fixture
	key store.Key
	seq uint64
}

// task creates a task with the events 1 and 2.
func (b *fixture) task(id string) *task {
	b.t.Helper()
	return b.taskOf("alice", id)
}

func (b *fixture) taskOf(owner a2a.Owner, id string) *task {
	b.t.Helper()
	key := store.Key{Owner: owner, TaskID: id}
	said := &a2a.Message{ID: "m1", Role: a2a.RoleUser, TaskID: id, ContextID: "c1", Parts: []a2a.Part{a2a.TextPart("hello")}}
	log, err := b.tasks.Create(b.t.Context(), store.NewTask{Key: key, Origin: store.Origin{ContextID: "c1"}, Events: []a2a.Event{{Message: said}, state(id, a2a.StateSubmitted)}})
	if err != nil {
		b.t.Fatal(err)
	}
	return &task{Log: log, b: b, key: key, seq: 2}
}

func state(id string, s a2a.State) a2a.Event {
	return a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: id, ContextID: "c1",
		Status: a2a.Status{State: s, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}}
}

func chunk(id, artifact, text string, follows bool) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: id, ContextID: "c1", Append: follows, JoinText: true,
		Artifact: a2a.Artifact{ID: artifact, Parts: []a2a.Part{a2a.TextPart(text)}},
	}}
}

func (t *task) add(events ...a2a.Event) {
	t.b.t.Helper()
	seq, err := t.Append(t.b.t.Context(), store.Append{After: t.seq, Events: events})
	if err != nil {
		t.b.t.Fatalf("Append() error = %v", err)
	}
	t.seq = seq
}

// setState appends a status.
func (t *task) setState(s a2a.State) { t.b.t.Helper(); t.add(state(t.key.TaskID, s)) }

// config registers a webhook and returns it.
func (t *task) config(c a2a.PushConfig) *a2a.PushConfig {
	t.b.t.Helper()
	c.TaskID = t.key.TaskID
	if c.URL == "" {
		c.URL = hook
	}
	set, err := t.b.SetPush(t.b.t.Context(), &a2a.SetPushRequest{Owner: t.key.Owner, Config: c})
	if err != nil {
		t.b.t.Fatalf("SetPush() error = %v", err)
	}
	return set
}

func (t *task) request(id string) *a2a.PushRequest {
	return &a2a.PushRequest{Owner: t.key.Owner, TaskID: t.key.TaskID, ID: id}
}

// wantFollowing waits until all goroutines wait, and checks the number of followed
// configurations.
func (b *fixture) wantFollowing(want int) {
	b.t.Helper()
	synctest.Wait()
	if got := b.Following(); got != want {
		b.t.Errorf("%d configurations are followed, want %d", got, want)
	}
}

func (b *fixture) wantCounts(want string) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for r, n := range b.results {
		all = append(all, fmt.Sprintf("%s=%d", r, n))
	}
	for c, n := range b.causes {
		all = append(all, fmt.Sprintf("abandoned:%s=%d", c, n))
	}
	slices.Sort(all)
	if got := strings.Join(all, " "); got != want {
		b.t.Errorf("counted %q, want %q", got, want)
	}
}
