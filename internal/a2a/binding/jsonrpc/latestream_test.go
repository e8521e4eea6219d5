// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// lateMethods maps the streaming methods of each version to their parameters.
var lateMethods = map[string]string{
	"tasks/sendSubscribe":  `{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}`,
	"message/stream":       `{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}`,
	"SendStreamingMessage": `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
}

// TestLateStreamBegins checks that the header of a stream is sent within a second, although its first
// event is late, and that a later error is an event.
func TestLateStreamBegins(t *testing.T) {
	for method, params := range lateMethods {
		for name, f := range map[string]*fake{
			"events":   {Records: []*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateCompleted)}},
			"an error": {Err: a2a.Busy("no slot")},
		} {
			t.Run(method+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f.Entered = func() { time.Sleep(3 * time.Minute) }
					x := newFixture(f)
					done := make(chan string)
					go func() {
						w := x.post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
						if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || !w.Flushed {
							t.Errorf("response %d %s", w.Code, w.Header())
						}
						done <- w.Body.String()
					}()
					body := <-done
					plain := method == "tasks/sendSubscribe"
					if got := strings.Count(body, ": keep-alive\n\n"); got != 2 && !plain || got != 0 && plain {
						t.Errorf("%d comments in %q", got, body)
					}
					want := "no slot"
					if f.Err == nil {
						want = "ompleted"
					}
					if !strings.Contains(strings.ToLower(body), want) || !strings.Contains(body, "data: {") {
						t.Errorf("stream = %q, want %q", body, want)
					}
				})
			})
		}
	}
}
