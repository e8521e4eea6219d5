// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestParse(t *testing.T) {
	tests := map[string]target{
		"/message:send":                             {resource: messageSend},
		"/message:stream":                           {resource: messageStream},
		"/tasks":                                    {resource: taskList},
		"/tasks/t1":                                 {resource: task, task: "t1"},
		"/tasks/t1:cancel":                          {resource: taskCancel, task: "t1"},
		"/tasks/t1:subscribe":                       {resource: taskSubscribe, task: "t1"},
		"/tasks/t1/pushNotificationConfigs":         {resource: pushConfigs, task: "t1"},
		"/tasks/t1/pushNotificationConfigs/p1":      {resource: pushConfig, task: "t1", config: "p1"},
		"/extendedAgentCard":                        {resource: agentCard},
		"/acme/message:send":                        {tenant: "acme", resource: messageSend},
		"/acme/tasks/t1:cancel":                     {tenant: "acme", resource: taskCancel, task: "t1"},
		"/acme/extendedAgentCard":                   {tenant: "acme", resource: agentCard},
		"/a%20b/tasks":                              {tenant: "a b", resource: taskList},
		"/a%2Fb/tasks":                              {tenant: "a/b", resource: taskList},
		"/v1/message:send":                          {legacy: true, resource: messageSend},
		"/v1//message:send":                         {legacy: true, resource: messageSend},
		"/v1//message:stream":                       {legacy: true, resource: messageStream},
		"/v1/tasks":                                 {legacy: true, resource: taskList},
		"/v1/tasks/t1":                              {legacy: true, resource: task, task: "t1"},
		"/v1/tasks/t1:subscribe":                    {legacy: true, resource: taskSubscribe, task: "t1"},
		"/v1/tasks/t1/pushNotificationConfigs/p1":   {legacy: true, resource: pushConfig, task: "t1", config: "p1"},
		"/v1/task/t1/pushNotificationConfigs":       {legacy: true, resource: pushConfigs, task: "t1"},
		"/v1/task/t1/pushNotifications":             {legacy: true, resource: pushConfigs, task: "t1"},
		"/v1/tasks/t1/pushNotifications/p1":         {legacy: true, resource: pushConfig, task: "t1", config: "p1"},
		"/v1/card":                                  {legacy: true, resource: agentCard},
		"/tasks/a:b":                                {resource: task, task: "a:b"},
		"/tasks/a:cancel:cancel":                    {resource: taskCancel, task: "a:cancel"},
		"/tasks/a%3Acancel":                         {resource: task, task: "a:cancel"},
		"/tasks/a%2Fb%3Ac:cancel":                   {resource: taskCancel, task: "a/b:c"},
		"/tasks/%25%00%C3%A9":                       {resource: task, task: "%\x00é"},
		"/tasks/a%2FpushNotificationConfigs":        {resource: task, task: "a/pushNotificationConfigs"},
		"/tasks/t/pushNotificationConfigs/a%2Fb:c":  {resource: pushConfig, task: "t", config: "a/b:c"},
		"/tasks/t:cancel/pushNotificationConfigs/p": {resource: pushConfig, task: "t:cancel", config: "p"},
		// These paths belong to this binding, but name no resource.
		"/v1/":                                  {legacy: true},
		"/v1/frobnicate":                        {legacy: true},
		"/v1/task/t1":                           {legacy: true},
		"/v1/extendedAgentCard":                 {legacy: true},
		"/v1/acme/message:send":                 {legacy: true},
		"/v1/v1/tasks":                          {legacy: true},
		"/v1//tasks":                            {legacy: true},
		"/v1///message:send":                    {legacy: true},
		"/v1/message%3Asend":                    {legacy: true},
		"/tasks/":                               {},
		"/tasks/:cancel":                        {},
		"/tasks//pushNotificationConfigs":       {},
		"/tasks/t1/":                            {},
		"/tasks/t1/pushNotifications":           {},
		"/tasks/t1/pushNotificationConfigs/":    {},
		"/tasks/t1/pushNotificationConfigs/p/q": {},
		"/tasks/t1/frobnicate":                  {},
	}
	for path, want := range tests {
		got, owned := parse(path)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" || !owned {
			t.Errorf("parse(%s) owned = %t (-want +got):\n%s", path, owned, diff)
		}
	}
}

// TestWire09_ReservedTenants checks that the binding does not own the paths of other
// handlers.
func TestWire09_ReservedTenants(t *testing.T) {
	for _, tenant := range []string{
		"%76%31", "%74asks", "agent", ".well-known", "%2Ewell-known", "extendedAgentCard", "livez", "readyz", "metrics", "drained", "",
	} {
		for _, path := range []string{"/message:send", "/tasks/t1", "/extendedAgentCard"} {
			path = "/" + tenant + path
			if got, owned := parse(path); owned {
				t.Errorf("parse(%s) = %+v", path, got)
			}
		}
	}
	for _, path := range []string{"", "/", "/v1", "/x", "/message:send/", "/message:frobnicate", "/acme/", "/acme/tasks/", "/a/b/tasks", "/%zz/tasks", "*", "/agent/authenticatedExtendedCard", "/.well-known/agent-card.json"} {
		if got, owned := parse(path); owned {
			t.Errorf("parse(%s) = %+v", path, got)
		}
	}
	// A body and a query can name tenants that a path cannot name. The binding refuses
	// them.
	for _, tenant := range []string{"v1", "tasks", ".well-known", "metrics", "extendedAgentCard"} {
		x := newFixture(&fake{Task: newTask(a2a.StateWorking)})
		if w := x.do(t, "GET", "/tasks/t1?tenant="+tenant, ""); w.Code != http.StatusBadRequest || x.fake.Last() != nil {
			t.Errorf("tenant %s = %d %s", tenant, w.Code, w.Body)
		}
	}
}

// TestVerbs checks that the path alone determines the allowed methods, whether or not the
// task exists.
func TestVerbs(t *testing.T) {
	tests := map[string][]string{
		"/message:send":                        {"POST"},
		"/message:stream":                      {"POST"},
		"/tasks":                               {"GET"},
		"/tasks/x":                             {"GET"},
		"/tasks/x:cancel":                      {"POST"},
		"/tasks/x:subscribe":                   {"GET", "POST"},
		"/tasks/x/pushNotificationConfigs":     {"GET", "POST"},
		"/tasks/x/pushNotificationConfigs/p":   {"DELETE", "GET"},
		"/extendedAgentCard":                   {"GET"},
		"/v1/card":                             {"GET"},
		"/v1/message:send":                     {"POST"},
		"/v1/task/x/pushNotificationConfigs/p": {"DELETE", "GET"},
	}
	for path, allowed := range tests {
		for _, verb := range []string{"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "FROB"} {
			var former string
			for _, f := range []*fake{
				{Err: a2a.TaskNotFound("x")},
				{Task: newTask(a2a.StateWorking), Event: a2a.Event{Task: newTask(a2a.StateWorking)}, Page: &a2a.TaskPage{}},
			} {
				x := newFixture(f)
				w := x.do(t, verb, path, "{}")
				if slices.Contains(allowed, verb) {
					if w.Code == http.StatusMethodNotAllowed {
						t.Errorf("%s %s is not allowed", verb, path)
					}
					continue
				}
				if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != strings.Join(allowed, ", ") || x.fake.Last() != nil {
					t.Errorf("%s %s = %d, Allow: %s", verb, path, w.Code, w.Header().Get("Allow"))
				}
				if former != "" && former != w.Body.String() {
					t.Errorf("%s %s tells whether there is a task", verb, path)
				}
				former = w.Body.String()
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, path := range []string{"/message:send", "/v1//message:send", "/acme/tasks/a%2Fb:cancel", "/tasks/t1/pushNotificationConfigs/p1", "/%zz/tasks"} {
		f.Add("GET", path)
	}
	f.Fuzz(func(t *testing.T, verb, path string) {
		got, owned := parse(path)
		if !owned && got != (target{}) {
			t.Errorf("parse(%q) = %+v of nobody", path, got)
		}
		if got.resource >= task && got.resource < agentCard && got.task == "" {
			t.Errorf("parse(%q) = %+v without a task", path, got)
		}
		r, err := http.NewRequest(verb, "http://x", http.NoBody)
		if err != nil {
			return
		}
		if r.URL, err = r.URL.Parse(path); err != nil {
			return
		}
		x := newFixture(&fake{Err: a2a.TaskNotFound("x")})
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		if w.Code < 400 {
			t.Errorf("%q %q of nobody = %d", verb, path, w.Code)
		}
	})
}
