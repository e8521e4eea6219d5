// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/kit/auditlog"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// auditedWorld returns a registry and the events of its audit log. The clock of the audit log
// stands still, so its rate limit does not refill.
func auditedWorld(t *testing.T) (w *world, events func() []map[string]any) {
	t.Helper()
	var text bytes.Buffer
	log := logr.FromSlogHandler(slog.NewJSONHandler(&text, nil))
	w = newWorldWith(t, fleet(t), func(a *api) {
		a.denials = newDenials(log, testclock.NewFakePassiveClock(time.Unix(0, 0)))
	})
	return w, func() []map[string]any {
		all := []map[string]any{}
		for decoder := json.NewDecoder(bytes.NewReader(text.Bytes())); decoder.More(); {
			var e map[string]any
			if err := decoder.Decode(&e); err != nil {
				t.Fatal(err)
			}
			if e["msg"] != "request denied" || e["level"] != "INFO" {
				t.Errorf("event %v", e)
			}
			for _, key := range []string{"time", "level", "msg"} {
				delete(e, key)
			}
			all = append(all, e)
		}
		return all
	}
}

func TestDeniedRequestsAreLogged(t *testing.T) {
	w, events := auditedWorld(t)
	w.get(t, "", "/v1/agents")
	w.get(t, "canary", "/v1/agents/team-a/echo")
	w.get(t, "canary", ard.ManifestPath)
	w.get(t, "peer", "/v1/agents?watch=true")
	w.call(t, "", "/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`, "A2A-Version", "1.0")
	w.send10(t, "peer", `{"text":"echo"}`, "")
	w.exchange(t, "canary", "echo.team-a.a2a-operator.dev")
	w.exchange(t, "home", "secret.team-d.a2a-operator.dev")
	w.exchange(t, "home", "absent.team-d.a2a-operator.dev")
	// These are no denials: public paths, mistakes, and agents that are missing for the caller.
	w.get(t, "", ard.ManifestPath)
	w.get(t, "", "/healthz")
	w.get(t, "dev", "/v1/agents?skil=x")
	w.get(t, "dev", "/v1/agents/team-d/secret")
	const address, home = "192.0.2.1:1234", "system:serviceaccount:team-a:bot"
	unauthenticated := func(credential bool, operation string) map[string]any {
		return map[string]any{"by": "authentication", "reason": "UNAUTHENTICATED", "address": address, "credential": credential, "operation": operation}
	}
	forbidden := func(caller, operation string) map[string]any {
		return map[string]any{"by": "authorization", "reason": "PERMISSION_DENIED", "caller": caller, "operation": operation}
	}
	hidden, absent := forbidden(home, "token"), forbidden(home, "token")
	hidden["agent"], absent["agent"] = "team-d/secret", "team-d/absent"
	want := []map[string]any{
		unauthenticated(false, "list"), unauthenticated(true, "get"), unauthenticated(true, "catalog"), forbidden("peer", "watch"),
		unauthenticated(false, "a2a"), forbidden("peer", "a2a"), unauthenticated(true, "token"), hidden, absent,
	}
	if diff := cmp.Diff(want, events()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

// Requests without a token, whose rate is not limited, do not remove the denials of callers from
// the audit log.
func TestTheAuditLogIsBoundedByKind(t *testing.T) {
	w, events := auditedWorld(t)
	for range 3 * auditlog.Burst {
		w.unvalidated.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/agents", nil))
	}
	w.get(t, "peer", "/v1/agents")
	all := events()
	if len(all) != auditlog.Burst+1 || all[len(all)-1]["caller"] != "peer" {
		t.Errorf("%d events, the last one is %v", len(all), all[len(all)-1])
	}
}

func TestTheAuditLogHasNoCredential(t *testing.T) {
	w, events := auditedWorld(t)
	w.get(t, "canary-token", "/v1/agents")
	w.get(t, "", "/v1/agents", "Authorization", "Basic canary-password")
	all := events()
	if text := fmt.Sprint(all); len(all) != 2 || strings.Contains(text, "canary") || all[1]["credential"] != true {
		t.Errorf("audit log = %s", text)
	}
}
