// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	helloREST10 = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`
	helloREST03 = `{"message":{"messageId":"m2","role":"ROLE_USER","content":[{"text":"Hello"}]}}`
	helloKind   = `{"message":{"kind":"message","messageId":"m3","role":"user","parts":[{"kind":"text","text":"Hello"}]}}`
)

func TestREST(t *testing.T) {
	p := newPod(t, respondHi, nil)
	as := []string{"Authorization", "Bearer " + p.token("team"), "Content-Type", "application/json"}
	tests := map[string]struct{ path, body, answer, prefix string }{
		"1.0":         {"", helloREST10, `{"task":{"id":"`, `{"id":"`},
		"1.0, tenant": {"acme/", helloREST10, `{"task":{"id":"`, `{"id":"`},
		"0.3":         {"v1/", helloREST03, `{"task":{"id":"`, `{"id":"`},
		"kinds":       {"v1/", helloKind, `{"kind":"task","id":"`, `{"kind":"task","id":"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			base := p.agent() + test.path
			response, body := p.do("POST", base+"message:send", test.body, as...)
			var sent struct{ Task struct{ ID string } }
			if err := json.Unmarshal([]byte(body), &sent); err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(body, test.answer) {
				t.Fatalf("send = %d %s", response.StatusCode, body)
			}
			if response, body := p.do("GET", base+"tasks/"+sent.Task.ID, "", as...); response.StatusCode != http.StatusOK || !strings.HasPrefix(body, test.prefix) {
				t.Errorf("get = %d %s", response.StatusCode, body)
			}
			if response, body := p.do("GET", base+"tasks?pageSize=1", "", as...); response.StatusCode != http.StatusOK || !strings.Contains(body, `"pageSize":1`) {
				t.Errorf("list = %d %s", response.StatusCode, body)
			}
			if response, body := p.do("POST", base+"tasks/"+sent.Task.ID+":cancel", "", as...); response.StatusCode != http.StatusBadRequest || !strings.Contains(body, "TASK_NOT_CANCELABLE") {
				t.Errorf("cancel = %d %s", response.StatusCode, body)
			}
			response, body = p.do("POST", base+"message:stream", strings.Replace(test.body, `"messageId":"m`, `"messageId":"n`, 1), as...)
			if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, "id: 2\ndata: {") {
				t.Errorf("stream = %d %s", response.StatusCode, body)
			}
			// A task of one tenant is not found by requests of another tenant.
			if response, body := p.do("GET", p.agent()+"other/tasks/"+sent.Task.ID, "", as...); response.StatusCode != http.StatusNotFound {
				t.Errorf("in another tenant = %d %s", response.StatusCode, body)
			}
		})
	}
	for path, want := range map[string]string{
		"tasks/t1": `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"A credential is required; the security schemes of the Agent Card name the kinds",`,
		"v1/card":  `{"code":-32603,"message":"A credential is required; the security schemes of the Agent Card name the kinds","error":{"code":401,"status":"UNAUTHENTICATED",`,
	} {
		response, body := p.do("GET", p.agent()+path, "")
		if response.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(body, want) || response.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s of nobody = %d %s", path, response.StatusCode, body)
		}
	}
	for _, want := range []string{
		`a2a_protocol_requests_total{binding="rest",version="1.0"} `,
		`a2a_request_errors_total{reason="UNAUTHENTICATED"} 2`,
	} {
		p.eventually(want, func() bool {
			_, metrics := p.do("GET", p.health("/metrics"), "")
			return strings.Contains(metrics, want)
		})
	}
}

// TestWire10_ForeignTasksREST checks that requests for tasks of other owners have the
// same responses as for tasks that never existed.
func TestWire10_ForeignTasksREST(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Access.Namespaces = []string{"*"} })
	_, body := p.do("POST", p.agent()+"message:send", helloREST10, "Authorization", "Bearer "+p.token("team"), "Content-Type", "application/json")
	var sent struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &sent); err != nil || sent.Task.ID == "" {
		t.Fatalf("send = %s", body)
	}
	other := []string{"Authorization", "Bearer " + p.token("other"), "Content-Type", "application/json"}
	for _, prefix := range []string{"", "acme/", "v1/"} {
		for _, request := range []string{
			"GET tasks/ID", "POST tasks/ID:cancel", "GET tasks/ID:subscribe", "POST tasks/ID:subscribe", "GET tasks/ID/pushNotificationConfigs",
			"GET tasks/ID/pushNotificationConfigs/p1", "DELETE tasks/ID/pushNotificationConfigs/p1", "PUT tasks/ID", "DELETE tasks/ID",
		} {
			verb, path, _ := strings.Cut(request, " ")
			var former string
			for _, id := range []string{sent.Task.ID, strings.Repeat("0", len(sent.Task.ID))} {
				response, body := p.do(verb, p.agent()+prefix+strings.ReplaceAll(path, "ID", id), "", other...)
				answer := response.Status + response.Header.Get("Allow") + strings.ReplaceAll(body, id, "ID")
				if former != "" && former != answer {
					t.Errorf("%s%s: a foreign task is answered with %s, a missing one with %s", prefix, request, former, answer)
				}
				if former = answer; response.StatusCode < 400 {
					t.Errorf("%s%s of a foreign task = %s", prefix, request, answer)
				}
			}
		}
	}
}
