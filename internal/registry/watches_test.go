// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// watchServer serves watches of a feed over real connections. Its callers see all agents.
func watchServer(t *testing.T, feed *index.Feed) (server *httptest.Server, a *api) {
	t.Helper()
	authz := access.NewAuthorizer(access.AuthorizerOptions{
		Review:   func(context.Context, access.Caller, access.Right) (bool, error) { return true, nil },
		Bindings: access.NewBindings(clock.RealClock{}), Clock: clock.RealClock{},
	})
	a = &api{
		feed: feed, authz: authz, watches: newWatches(feed, clock.RealClock{}), searchLimits: newSearchLimits(clock.RealClock{}), log: logr.Discard(), denials: newDenials(logr.Discard(), clock.RealClock{}),
		authn: access.NewAuthenticator(access.AuthenticatorOptions{Clock: clock.RealClock{}, Review: func(_ context.Context, token string, _ access.Sender) (access.Caller, bool, error) {
			return caller(t, token, nil), true, nil
		}}),
	}
	server = httptest.NewUnstartedServer(a.handler())
	server.Config.ReadTimeout, server.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	return server, a
}

func openWatch(t *testing.T, server *httptest.Server, target, last string) (*bufio.Scanner, *http.Response) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer u")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return bufio.NewScanner(response.Body), response
}

// await reads lines until one contains text, and returns the last id before it.
func await(t *testing.T, lines *bufio.Scanner, text string) (id string) {
	t.Helper()
	for lines.Scan() {
		if rest, found := strings.CutPrefix(lines.Text(), "id: "); found {
			id = rest
		}
		if strings.Contains(lines.Text(), text) {
			return id
		}
	}
	t.Fatalf("the stream ended before %q: %v", text, lines.Err())
	return ""
}

// A watch lasts longer than the timeouts of the server, can resume at an id, and ends when the
// server stops.
func TestWatchOverHTTP(t *testing.T) {
	s := fleet(t)
	state := map[index.Key]*index.Entry{}
	for e := range s.All {
		state[e.Key] = e
	}
	feed := index.NewFeed(func(_ context.Context, key index.Key, _ *index.Entry, _ index.Revision) (*index.Entry, error) {
		return state[key], nil
	}, clock.RealClock{}, logr.Discard())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for key := range state {
		feed.Touch(index.Revision{Agents: 1}, key)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); feed.Run(ctx) }()
	waitFor(t, func() error {
		if feed.Current() == nil {
			return errNotIndexed
		}
		return nil
	})
	server, a := watchServer(t, feed)
	serving, stopServing := context.WithCancel(t.Context())
	defer stopServing()
	a.watches.serving = serving

	lines, response := openWatch(t, server, "/v1/agents?watch=true&skill=echo", "")
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("GET = %s, Content-Type %s", response.Status, kind)
	}
	first := await(t, lines, "event: synced")
	time.Sleep(250 * time.Millisecond) // more than the timeouts of the server
	stop()
	<-ended
	state[index.Key{Namespace: "team-e", Name: "echo"}] = makeEntry(t, index.Key{Namespace: "team-e", Name: "echo"}, true, "echo")
	feed.Touch(index.Revision{Agents: 2}, index.Key{Namespace: "team-e", Name: "echo"})
	feed.Run(ctx) // publishes once
	if id := await(t, lines, `"namespace":"team-e"`); id == first || id == "" {
		t.Errorf("the id after a change is %q, before it %q", id, first)
	}
	other, _ := openWatch(t, server, "/v1/agents?watch=true", "of another build")
	await(t, other, "event: reset")
	_, response = openWatch(t, server, "/v1/agents?watch=true&since=x", "")
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"field":"since"`) {
		t.Errorf("since of another build = %s %s, want 400", response.Status, body)
	}
	stopServing()
	for lines.Scan() {
		continue // until the server ends the stream
	}
}

// A watch ends soon after its token is not valid any more, and stays open while the API server does not answer.
func TestWatchOfARevokedTokenEnds(t *testing.T) {
	server, a := watchServer(t, feedOf(t, fleet(t)))
	const reviewing, failing, revoked = 0, 1, 2
	var state, reviews atomic.Int32
	now := testclock.NewFakePassiveClock(time.Now())
	authn := access.NewAuthenticator(access.AuthenticatorOptions{Clock: now, Review: func(_ context.Context, token string, _ access.Sender) (access.Caller, bool, error) {
		reviews.Add(1)
		if state.Load() == failing {
			return access.Caller{}, false, errors.New("no answer")
		}
		return caller(t, token, nil), state.Load() == reviewing, nil
	}})
	a.watches.authenticate = authn.Caller
	a.watches.reviewInterval = time.Millisecond
	before := endedWatches(t, "unauthenticated")
	lines, _ := openWatch(t, server, "/v1/agents?watch=true", "")
	await(t, lines, "event: synced")
	state.Store(failing)
	now.SetTime(now.Now().Add(time.Minute))
	seen := reviews.Load()
	waitFor(t, func() error {
		if reviews.Load() < seen+3 {
			return errors.New("the watch does not retry the review")
		}
		return nil
	})
	state.Store(revoked)
	for lines.Scan() {
		continue // until the server ends the stream
	}
	waitFor(t, func() error {
		if got := endedWatches(t, "unauthenticated") - before; got != 1 {
			return errors.New("the end of the watch is not counted")
		}
		return nil
	})
}

func TestWatchesOfOneCallerAreLimited(t *testing.T) {
	w := newWatches(feedOf(t, &index.Snapshot{}), clock.RealClock{})
	c := caller(t, "u", nil)
	for range maxCallerWatches {
		if _, err := w.acquire(c); err != nil {
			t.Fatalf("a watch within the limit is refused: %v", err)
		}
	}
	_, err := w.acquire(c)
	if refused, ok := errors.AsType[*apierror.Error](err); !ok || refused.Status != http.StatusTooManyRequests {
		t.Errorf("a watch beyond the limit: %v, want 429", err)
	}
	if _, err := w.acquire(caller(t, "other", nil)); err != nil {
		t.Errorf("a watch of another caller is refused: %v", err)
	}
}

// deadlineWriter records the write deadline of a response.
type deadlineWriter struct {
	http.ResponseWriter
	deadline time.Time
}

func (d *deadlineWriter) SetWriteDeadline(at time.Time) error { d.deadline = at; return nil }
func (d *deadlineWriter) Flush()                              {}

// HTTP/2 resets a stream when its write deadline passes, even if nothing is written. Flush
// therefore removes the deadline.
func TestQuietWatchHasNoWriteDeadline(t *testing.T) {
	w := &deadlineWriter{ResponseWriter: httptest.NewRecorder()}
	events := &eventWriter{w: w, control: http.NewResponseController(w), clock: clock.RealClock{}}
	if _, err := events.Write([]byte("data: x\n\n")); err != nil || w.deadline.IsZero() {
		t.Errorf("Write() error = %v, with deadline %v", err, w.deadline)
	}
	if err := events.Flush(); err != nil || !w.deadline.IsZero() {
		t.Errorf("after Flush() (error %v) the deadline is %v, want none", err, w.deadline)
	}
}

// hookedWriter calls onWrite after each write.
type hookedWriter struct {
	*httptest.ResponseRecorder
	onWrite func()
}

func (h *hookedWriter) Write(text []byte) (int, error) {
	defer h.onWrite()
	return h.ResponseRecorder.Write(text)
}

func endedWatches(t *testing.T, reason string) int {
	t.Helper()
	var m dto.Metric
	if err := watchesEnded.WithLabelValues(reason).Write(&m); err != nil {
		t.Fatal(err)
	}
	return int(m.GetCounter().GetValue())
}

// The metric does not count a watch as ended by the client if the server ends it because the access
// of its caller changes during the first state.
func TestWatchEndedByAChangeOfAccessIsCounted(t *testing.T) {
	var entries []*index.Entry
	for i := range 200 { // more than one chunk of events
		entries = append(entries, makeEntry(t, index.Key{Namespace: "team-a", Name: "agent-" + strconv.Itoa(i)}, true, "echo"))
	}
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	var lost atomic.Bool
	authz := access.NewAuthorizer(access.AuthorizerOptions{
		Review: func(_ context.Context, _ access.Caller, r access.Right) (bool, error) {
			return r.Namespace == "team-a" && !lost.Load(), nil
		},
		Bindings: access.NewBindings(now), Clock: now, Candidates: func() []string { return []string{"team-a"} },
	})
	q, err := index.ParseQuery("watch=true")
	if err != nil {
		t.Fatal(err)
	}
	changed, client := endedWatches(t, "access_changed"), endedWatches(t, "client")
	w := &hookedWriter{ResponseRecorder: httptest.NewRecorder(), onWrite: func() {
		lost.Store(true)
		now.SetTime(time.Unix(0, 0).Add(time.Hour)) // the reviews expire
	}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/agents?watch=true", nil)
	if err := newWatches(feedOf(t, snapshotOf(entries...)), now).get(w, r, caller(t, "u", nil), q, authz.VisibleSet); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(w.Body.String(), "event: synced") {
		t.Error("the watch sent its first state although the access of the caller changed")
	}
	if changed, client = endedWatches(t, "access_changed")-changed, endedWatches(t, "client")-client; changed != 1 || client != 0 {
		t.Errorf("%d watches ended with the reason access_changed, %d with client, want 1 and 0", changed, client)
	}
}
