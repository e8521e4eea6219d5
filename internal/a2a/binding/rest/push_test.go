// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
)

// TestPushAnswersAreChargedWhileTheyAreWritten checks that a response with push
// configurations is charged until its client has read it.
func TestPushAnswersAreChargedWhileTheyAreWritten(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, body string
		want               int64
	}{
		"set":  {http.MethodPost, "", `{"url":"https://x.example/"}`, bindingtest.LargePush},
		"get":  {http.MethodGet, "/p1", "", bindingtest.LargePush},
		"list": {http.MethodGet, "", "", 16 * bindingtest.LargePush},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(&fake{})
			x.fake.Pushes = bindingtest.LargePushes()
			x.fake.Push = x.fake.Pushes.Configs[0]
			r := httptest.NewRequest(test.method, "/tasks/t1/pushNotificationConfigs"+test.path, strings.NewReader(test.body))
			r.Header.Set("Content-Type", "application/json")
			stalled, done := bindingtest.NewStalled(), make(chan struct{})
			go func() {
				defer close(done)
				x.ServeHTTP(stalled, r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"})))
			}()
			<-stalled.Writing
			if held := x.Limits.Answers.Used(); held < test.want {
				t.Errorf("%d bytes are charged during the write, want at least %d", held, test.want)
			}
			stalled.Read()
			<-done
			if held := x.Limits.Answers.Used(); held != 0 || int64(stalled.Body.Len()) < test.want {
				t.Errorf("after a response of %d bytes, %d bytes are charged, want 0", stalled.Body.Len(), held)
			}
		})
	}
}
