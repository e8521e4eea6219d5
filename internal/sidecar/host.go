// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// checkHost refuses requests to an endpoint at a loopback address whose Host is
// neither a loopback name nor one of the configured hosts. A web page whose name
// was rebound to loopback could otherwise call an agent on its reader's machine.
// configured returns hosts as card.NormalizeHost does; nil has none. They are
// compared with their ports, since such a page names the port of the endpoint,
// and a proxy in front of it that of its own. Elsewhere the names of an agent
// are unknown, and credentials decide who calls.
func checkHost(listener net.Addr, configured func() map[string]bool, deny func(http.ResponseWriter, *http.Request, *a2a.Error)) middleware {
	return func(next http.Handler) http.Handler {
		if !loopback(hostOf(listener.String())) {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if loopback(hostOf(r.Host)) || configured != nil && configured()[card.NormalizeHost(r.Host)] {
				next.ServeHTTP(w, r)
				return
			}
			deny(w, r, &a2a.Error{
				Reason: a2a.ReasonPermissionDenied,
				Message: "This endpoint is at a loopback address, so Host must be localhost, a loopback address or the host of a base URL; " +
					"name the base URL by --base-url, or listen at another address by --listen",
			})
		})
	}
}

// configuredHosts returns the hosts of the URLs at which a configuration says
// that the agent is served.
func configuredHosts(c *sidecarconfig.Config) map[string]bool {
	hosts := map[string]bool{}
	add := func(b card.Base) {
		for _, host := range append(b.Hosts(), b.HostNames()...) {
			hosts[host] = true
		}
	}
	for _, b := range c.Bases {
		add(b)
	}
	for _, i := range c.Card.Interfaces {
		if address := i.URL; i.Binding == card.GRPC && !strings.Contains(address, "://") {
			add(card.Base{URL: "https://" + address, GRPC: address})
		} else {
			add(card.Base{URL: address})
		}
	}
	return hosts
}

// hostOf returns the host of an address with a port or without.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}
