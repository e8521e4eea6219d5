// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// A task of one pod can be read through another pod, and through the first pod after a
// restart. Without Redis, a pod stays ready and serves its card, and its errors ask the
// client to try again.
func TestTasksInRedis(t *testing.T) {
	server := redistest.Start(t)
	stored := func(replica string) func(*settings.Options) {
		return func(o *settings.Options) { o.Store, o.Replica = "redis://"+server.Address(), replica }
	}
	first := newPodWith(t, respondHi, nil, stored("a"))
	_, body := first.do("POST", first.agent(), hello, "Authorization", "Bearer "+first.token("team"))
	var made struct {
		Result struct{ ID string }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || made.Result.ID == "" {
		t.Fatalf("message/send = %s", body)
	}
	second := newPodWith(t, respondHi, nil, stored("b"))
	get := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"` + made.Result.ID + `"}}`
	if _, body := second.do("POST", second.agent(), get, "Authorization", "Bearer "+second.token("team")); !strings.Contains(body, `"state":"completed"`) {
		t.Errorf("tasks/get elsewhere = %s", body)
	}
	if _, metrics := second.do("GET", second.health("/metrics"), ""); !strings.Contains(metrics, `a2a_store_call_duration_seconds_count{result="ok"}`) {
		t.Error("a2a_store_call_duration_seconds is missing")
	}
	server.Kill()
	if _, body := second.do("POST", second.agent(), hello, "Authorization", "Bearer "+second.token("team"), "A2A-Version", "0.3"); !strings.Contains(body, `"error"`) {
		t.Errorf("message/send in an outage = %s", body)
	}
	if response, body := second.do("GET", second.agent()+".well-known/agent-card.json", ""); response.StatusCode != http.StatusOK {
		t.Errorf("card in an outage = %s", body)
	}
	if response, body := second.do("GET", second.health("/readyz"), ""); response.StatusCode != http.StatusOK {
		t.Errorf("/readyz in an outage = %s", body)
	}
}
