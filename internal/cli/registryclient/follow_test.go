// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registryclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

const (
	reset = "id:\nevent: reset\ndata: {}\n\n"
	echo1 = "event: upsert\ndata: {\"namespace\":\"team\",\"name\":\"echo\",\"version\":\"1\"}\n\n"
	echo2 = "event: upsert\ndata: {\"namespace\":\"team\",\"name\":\"echo\",\"version\":\"2\"}\n\n"
	other = "event: upsert\ndata: {\"namespace\":\"team\",\"name\":\"other\",\"version\":\"1\"}\n\n"
)

func synced(id string) string { return "id: " + id + "\nevent: synced\ndata: {}\n\n" }

// script is a registry that answers each request with the next of the streams. A stream "503" is a response with this
// status. After the last stream, requests fail with status 401, which ends Follow.
type script struct {
	streams []string
	// lastIDs are the values of Last-Event-ID in the requests.
	lastIDs []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := len(s.lastIDs)
	s.lastIDs = append(s.lastIDs, r.Header.Get("Last-Event-ID"))
	if n >= len(s.streams) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if s.streams[n] == "503" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte(s.streams[n]))
}

// follow returns the changes that Follow reports, and the error that it returns.
func follow(t *testing.T, s *script) (changes []string, err error) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	u, _ := url.Parse(server.URL)
	client := &Client{URL: u, HTTP: server.Client(), Token: func(context.Context) (string, error) { return "t", nil }}
	err = client.Follow(t.Context(), registryapi.Query{Namespace: "team"}, func(c Change) error {
		changes = append(changes, fmt.Sprintf("%s %s %s", c.Type, c.Agent.Name, c.Agent.Version))
		return nil
	}, func(error) {})
	return changes, err
}

func TestFollowReportsEachChangeOnceOverAllStreams(t *testing.T) {
	s := &script{streams: []string{
		reset + echo1 + other + synced("1"),
		echo1 + echo2 + synced("2") + "id: 3\nevent: bookmark\ndata: {}\n\n",
		"503",
		reset + echo2 + synced("4"), // the registry has no changes since that id; other was removed in the meantime
	}}
	changes, err := follow(t, s)
	if failure.Of(err).Code != failure.AuthFailed {
		t.Errorf("a refused token ends the watch with %v", err)
	}
	if want := []string{"Added echo 1", "Added other 1", "Changed echo 2", "Removed other "}; !slices.Equal(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
	if want := []string{"", "1", "3", "3", "4"}; !slices.Equal(s.lastIDs, want) {
		t.Errorf("resumed at %q, want %q", s.lastIDs, want)
	}
}

// TestFollowNamesTheCauseOfAnEmptyStream covers streams that end before their first event, for example because of a
// proxy.
func TestFollowNamesTheCauseOfAnEmptyStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		empty := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: http.NoBody}, nil
		})
		client := &Client{
			URL: &url.URL{Scheme: "http", Host: "registry"}, HTTP: &http.Client{Transport: empty},
			Token: func(context.Context) (string, error) { return "t", nil },
		}
		err := client.Follow(t.Context(), registryapi.Query{}, func(Change) error { return nil }, func(cause error) {
			if cause == nil {
				t.Error("the watch is resumed without a cause")
			}
		})
		if failure.Of(err).Code != failure.Unreachable || !strings.Contains(err.Error(), "without an event") {
			t.Errorf("Follow() = %v", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestFollowReturnsTheFirstFailure(t *testing.T) {
	if _, err := follow(t, &script{streams: []string{"503"}}); failure.Of(err).Code != failure.Unreachable {
		t.Errorf("got %v", err)
	}
}

func TestObserveEndsAFollowedWatch(t *testing.T) {
	server := httptest.NewServer(&script{streams: []string{reset + echo1 + other + synced("1")}})
	defer server.Close()
	u, _ := url.Parse(server.URL)
	client := &Client{URL: u, HTTP: server.Client(), Token: func(context.Context) (string, error) { return "", nil }}
	full := errors.New("disk full")
	calls := 0
	err := client.Follow(t.Context(), registryapi.Query{}, func(Change) error { calls++; return full }, func(error) { t.Error("resumed") })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
