// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// checkHost protects an endpoint at a loopback address from DNS rebinding, by which a web
// page could call an agent on the machine of its reader. It refuses requests whose Host
// is neither a loopback name nor a configured host. configured returns hosts in the form
// of card.NormalizeHost. If it is nil, there are none.
//
// Hosts are compared including their ports: the Host of a rebound page has the port of
// the endpoint, and the Host from a proxy in front of the endpoint has the port of the
// proxy. At addresses other than loopback, the possible names of an agent are unknown, so
// checkHost does nothing.
func checkHost(listener net.Addr, configured func() map[string]bool, deny denyFunc) middleware {
	return func(next http.Handler) http.Handler {
		if !IsLoopback(hostOf(listener.String())) {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if IsLoopback(hostOf(r.Host)) || configured != nil && configured()[card.NormalizeHost(r.Host)] {
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

// ConfiguredHosts returns the hosts of the URLs in a configuration at which the agent is
// served.
func ConfiguredHosts(c *sidecarconfig.Config) map[string]bool {
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

// IsLoopback reports whether a host is localhost or a loopback address.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hostOf returns the host in an address with or without a port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}
