// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// registryHealth is a transport that records whether the registry answers: the dependency Registry. The gateway, and
// the reports of the sidecar, use it. A sidecar cannot report this dependency, because the registry receives the
// reports. The metric and the log show it.
type registryHealth struct {
	next    http.RoundTripper
	tracker *health.Tracker
	gateway func() *sidecarconfig.Gateway

	// known adds the dependency with the first request, so that the first report does not wait for it.
	known      sync.Once
	dependency *health.Dependency
}

// RoundTrip implements http.RoundTripper.
func (h *registryHealth) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := h.next.RoundTrip(r)
	if h.isForRegistry(r.URL) && !errors.Is(err, context.Canceled) {
		h.known.Do(func() { h.dependency = h.tracker.Add(sidecarconfig.DependencyRegistry, health.Options{}) })
		h.record(response, err)
	}
	return response, err
}

func (h *registryHealth) isForRegistry(u *url.URL) bool {
	gateway := h.gateway()
	if gateway == nil {
		return false
	}
	registry, err := url.Parse(gateway.RegistryURL)
	return err == nil && u.Scheme == registry.Scheme && u.Host == registry.Host
}

func (h *registryHealth) record(response *http.Response, err error) {
	switch {
	case err != nil:
		cause, text := health.CauseOf(err)
		h.dependency.Failf(cause, "%s", text)
	case response.StatusCode == http.StatusUnauthorized:
		h.dependency.Failf(sidecarconfig.CauseAuthentication, "the registry does not accept the token of the ServiceAccount")
	case response.StatusCode >= http.StatusInternalServerError:
		h.dependency.Failf(sidecarconfig.CauseNotServing, "the registry answers with status %d", response.StatusCode)
	default:
		h.dependency.Succeeded()
	}
}
