// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// addressed lets an endpoint at a loopback address answer to the names of this
// machine only. A web page whose own name was rebound to loopback could
// otherwise call an agent on its reader's laptop. Elsewhere nobody knows all
// names of an agent, and who is calling is told by credentials.
func addressed(listener net.Addr, deny func(http.ResponseWriter, *http.Request, *a2a.Error)) middleware {
	return func(next http.Handler) http.Handler {
		if !loopback(hostOf(listener.String())) {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if loopback(hostOf(r.Host)) {
				next.ServeHTTP(w, r)
				return
			}
			deny(w, r, &a2a.Error{
				Reason:  a2a.ReasonPermissionDenied,
				Message: "This endpoint is at a loopback address, so Host must be localhost or one; --listen says where else it is",
			})
		})
	}
}

// hostOf returns the host of an address with a port or without.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}
