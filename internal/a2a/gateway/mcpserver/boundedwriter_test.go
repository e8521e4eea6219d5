// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRunningCallSendsComments checks that a client of a silent agent gets the header and a comment
// within 15 s, and no comment after the end of the request.
func TestRunningCallSendsComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := httptest.NewRecorder()
		w := &boundedWriter{ResponseWriter: recorder, control: http.NewResponseController(recorder), timeout: time.Minute, now: time.Now}
		w.keepAlive()
		w.keepAlive()
		time.Sleep(9 * time.Second)
		if _, err := w.Write([]byte("data: 1\n\n")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		w.end()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := recorder.Body.String(); got != "data: 1\n\n: keep-alive\n\n" || !recorder.Flushed {
			t.Errorf("response = %q, flushed: %t", got, recorder.Flushed)
		}
		w.keepAlive()
		time.Sleep(time.Minute)
		if got := strings.Count(recorder.Body.String(), "keep-alive"); got != 1 {
			t.Errorf("%d comments, want 1", got)
		}
	})
}

// TestSilentAgentIsReported checks that a call has progress at least every 30 s.
func TestSilentAgentIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		last := began
		var texts []string
		p := &progress{send: func(_ int, text string) error {
			if since := time.Since(last); since > 30*time.Second {
				t.Errorf("no progress for %s", since)
			}
			last = time.Now()
			texts = append(texts, text)
			return nil
		}}
		p.start()
		time.Sleep(2 * time.Minute)
		p.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(texts) < 4 || time.Since(last) < time.Minute || texts[0] != "waiting for the agent" {
			t.Errorf("progress = %q, the last at %s", texts, last.Sub(began))
		}
	})
}
