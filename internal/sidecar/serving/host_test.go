// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
)

func TestHostNamesOfAnEndpoint(t *testing.T) {
	const everywhere, here, there = "0.0.0.0", "127.0.0.1", "::1"
	for _, tt := range []struct {
		at, host string
		want     int
	}{
		{here, "127.0.0.1:8080", 200},
		{here, "localhost", 200},
		{here, "[::1]:8080", 200},
		{here, "[::1]", 200},
		{there, "localhost:1", 200},
		{here, "evil.example", 403},
		{here, "127.0.0.1.evil.example", 403},
		{here, "localhost.evil.example:80", 403},
		{here, "", 403},
		{here, "10.0.0.1", 403},
		{there, "a.example", 403},
		{everywhere, "a.example", 200},
		{everywhere, "", 200},
		{"10.0.0.1", "a.example", 200},
	} {
		h := checkHost(&net.TCPAddr{IP: net.ParseIP(tt.at), Port: 8080}, nil, jsonrpc.Deny)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = tt.host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%q at %s = %d, want %d", tt.host, tt.at, w.Code, tt.want)
		}
	}
}
