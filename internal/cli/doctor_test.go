// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/cli/doctor"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestDoctorCallsTheAgentAndNamesMissingRights(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	c := startCluster(t)
	c.createNamespace(t)
	echo := sidecartest.Start(t, sidecartest.TextAgent)
	c.agent(t, "echo", echo.URL+"/")
	c.agent(t, "broken", "")
	c.create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "other"}, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	services := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}}
	t.Setenv("KUBECONFIG", c.user(t, "team", readAgents, requestToken, readEndpoints, forwardPorts, services))

	r := run(t, "doctor", "echo")
	for _, want := range []string{
		"problem  Agent team/echo", "ok       call: the agent answers", "ok       token: its audience is echo.team.a2a-operator.dev", "the Service selects the pods with app=other",
		"resources: [networkpolicies], verbs: [list]", "resources: [pods], verbs: [list]", "Ask for a Role in namespace kube-system",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r.status != 1 || r.stderr != "" {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}

	r = run(t, "doctor", "-o", "json")
	report := &doctor.Report{}
	if err := json.Unmarshal([]byte(r.stdout), report); err != nil || r.status != 1 || len(report.Agents) != 2 || report.Agents[0].Name != "broken" {
		t.Errorf("%v: %+v", err, r)
	}
	if r := run(t, "doctor", "echo", "-o", "yaml"); r.status != 1 || strings.Contains(r.stdout, "eyJ") || !strings.Contains(r.stdout, "level: problem") {
		t.Errorf("%+v", r)
	}
	for want, args := range map[int][]string{2: {"doctor", "echo", "-A"}, 3: {"doctor", "nothing"}, 4: {"doctor", "-A"}} {
		if r := run(t, args...); r.status != want {
			t.Errorf("%q: %+v", args, r)
		}
	}

	t.Run("a token for another audience is named", func(t *testing.T) {
		other := strings.TrimSpace(run(t, "token", "broken").stdout)
		t.Setenv("A2ACLI_BEARER", other)
		if r := run(t, "doctor", "echo"); !strings.Contains(r.stdout, "the token has audience broken.team.a2a-operator.dev") || strings.Contains(r.stdout, other) {
			t.Errorf("%+v", r)
		}
	})
}

func TestInterruptEndsDoctor(t *testing.T) {
	asked := make(chan struct{}, 16)
	stalled := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(stalled.Close)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	begin := time.Now()
	r := runIn(ctx, t, "", "doctor", "echo", "-n", "team", "--server", stalled.URL)
	if r.status != 130 || r.stderr != "Interrupted\n" || time.Since(begin) > 8*time.Second {
		t.Errorf("%+v after %s", r, time.Since(begin))
	}
}
