// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestLateStreamBegins checks that the header of a stream is sent within a second, although its first
// event is late, and that a later error is an event.
func TestLateStreamBegins(t *testing.T) {
	for url, body := range map[string]string{
		"/v1/message:stream": `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}]}}`,
		"/message:stream":    `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
	} {
		for want, f := range map[string]*fake{
			"TASK_STATE_COMPLETED":  {Records: []*a2a.Record{snapshot(1, newTask(a2a.StateWorking)), status(2, a2a.StateCompleted)}},
			"event: error\ndata: {": {Err: a2a.Busy("no slot")},
		} {
			t.Run(url, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f.Entered = func() { time.Sleep(90 * time.Second) }
					x := newFixture(f)
					w := x.do(t, http.MethodPost, url, body)
					got := w.Body.String()
					if w.Code != http.StatusOK || !strings.Contains(got, ": keep-alive\n\n") || !strings.Contains(got, want) {
						t.Errorf("response %d %q, want %q", w.Code, got, want)
					}
				})
			})
		}
	}
}

func TestAnswerHasTheTypeOfTheRequest(t *testing.T) {
	const a2aJSON = "application/a2a+json"
	for _, tt := range []struct{ sent, accept, want string }{
		{a2aJSON, "", a2aJSON},
		{a2aJSON, "application/json", plainJSON},
		{a2aJSON, "*/*", plainJSON},
		{plainJSON, "", plainJSON},
		{plainJSON, a2aJSON, a2aJSON},
	} {
		h := http.Header{"Content-Type": {tt.sent}}
		if tt.accept != "" {
			h.Set("Accept", tt.accept)
		}
		if got := dialectV10.answersIn(h); got != tt.want {
			t.Errorf("the answer to %s with Accept %q is in %s, want %s", tt.sent, tt.accept, got, tt.want)
		}
		if got := dialectV03.answersIn(h); got != plainJSON {
			t.Errorf("the answer of 0.3 to %s with Accept %q is in %s", tt.sent, tt.accept, got)
		}
	}
}

// TestEventSourceAtTheEndOfATask checks that an EventSource does not reconnect for ever.
func TestEventSourceAtTheEndOfATask(t *testing.T) {
	for _, prefix := range []string{"", "/v1"} {
		x := newFixture(&fake{Err: a2a.TaskEnded("t1")})
		w := x.do(t, http.MethodGet, prefix+"/tasks/t1:subscribe", "", "Last-Event-ID", "3")
		if w.Code != http.StatusNoContent && prefix == "" {
			t.Errorf("response %d %s", w.Code, w.Body)
		}
		if w = x.do(t, http.MethodGet, prefix+"/tasks/t1:subscribe", ""); w.Code != http.StatusBadRequest {
			t.Errorf("response without Last-Event-ID: %d %s", w.Code, w.Body)
		}
	}
}

// TestCompressedRequestIsRefused checks that a compressed body is not read as JSON (RFC 9110, 15.5.16).
func TestCompressedRequestIsRefused(t *testing.T) {
	x := newFixture(&fake{})
	w := x.do(t, http.MethodPost, "/message:send", "\x1f\x8b", "Content-Encoding", "gzip")
	if w.Code != http.StatusUnsupportedMediaType || w.Header().Get("Accept-Encoding") != "identity" || !strings.Contains(w.Body.String(), "Content-Encoding") {
		t.Errorf("response %d %s %s", w.Code, w.Header(), w.Body)
	}
	if w = x.do(t, http.MethodPost, "/message:send", "{}", "Content-Encoding", "identity"); w.Code == http.StatusUnsupportedMediaType {
		t.Errorf("response %d %s", w.Code, w.Body)
	}
}
