// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/operator/health"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// servicesOf returns the services that the manager adds, for pods in a cluster.
func servicesOf(cluster client.Client) []Service {
	reports := health.New(health.Options{
		Pods: cluster, Status: cluster.Status(), Annotations: cluster, Limited: Limited("health_reports"), Clock: clock.RealClock{},
	})
	return []Service{
		{"PUT " + sidecarconfig.HealthPath, func(c Callers) http.Handler { return c.Pod(reports.Put) }},
		{sidecarconfig.HealthPath, func(Callers) http.Handler { return http.HandlerFunc(health.NotPut) }},
		{"POST " + sidecarconfig.AlivePath, func(c Callers) http.Handler { return c.SignedPod(reports.Alive) }},
		{sidecarconfig.TokenPath, func(c Callers) http.Handler {
			return tokenexchange.New(tokenexchange.Options{
				Signer:       func() tokenexchange.Signer { return claimsSigner{} },
				Authenticate: func(r *http.Request) (*tokenexchange.Subject, error) { return subjectOf(c, r) },
				Log:          logr.Discard(), Clock: clock.RealClock{},
			})
		}},
	}
}

func subjectOf(callers Callers, r *http.Request) (*tokenexchange.Subject, error) {
	c, err := callers.Caller(r)
	if refused, ok := errors.AsType[*apierror.Error](err); ok && refused.Status == http.StatusUnauthorized {
		return nil, tokenexchange.InvalidToken("subject_token is not a valid ServiceAccount token for the audience " + a2av1alpha1.Audience)
	}
	if err != nil {
		return nil, err
	}
	return &tokenexchange.Subject{
		Username: c.Username, UID: c.UID, PodName: c.ExtraValue(access.ExtraPodName), PodUID: c.ExtraValue(access.ExtraPodUID),
		NodeName: c.ExtraValue(access.ExtraNodeName), NodeUID: c.ExtraValue(access.ExtraNodeUID),
		Lists: func(ctx context.Context, namespace, name string) (bool, error) {
			return callers.Finds(ctx, c, namespace, name)
		},
	}, nil
}

// Only a token that is bound to a pod reports, and its pod must be one of an Agent.
func TestOnlyPodsReport(t *testing.T) {
	w := newWorld(t, fleet(t))
	w.tokens["pod"] = caller(t, "system:serviceaccount:team-a:bot", map[string]authenticationv1.ExtraValue{
		access.ExtraPodName: {"bot-1"}, access.ExtraPodUID: {"u1"},
	})
	w.tokens["jane"] = caller(t, "jane", map[string]authenticationv1.ExtraValue{access.ExtraPodName: {"bot-1"}, access.ExtraPodUID: {"u1"}})
	for token, want := range map[string]int{
		"pod": http.StatusConflict, "home": http.StatusForbidden, "jane": http.StatusForbidden, "stranger": http.StatusUnauthorized,
	} {
		for method, path := range map[string]string{http.MethodPut: sidecarconfig.HealthPath, http.MethodPost: sidecarconfig.AlivePath} {
			body := ""
			if method == http.MethodPut {
				body = `{"dependencies":[]}`
			}
			r := httptest.NewRequestWithContext(t.Context(), method, "http://registry"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+token)
			if body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			recorder := httptest.NewRecorder()
			w.handler.ServeHTTP(recorder, r)
			if recorder.Code != want {
				t.Errorf("%s %s of %s = %d %s, want %d", method, path, token, recorder.Code, recorder.Body, want)
			}
		}
	}
}
