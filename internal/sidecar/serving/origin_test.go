// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

func TestOrigins(t *testing.T) {
	const page = "https://app.example.com"
	tests := map[string]struct {
		allowed []string
		method  string
		headers http.Header
		status  int
		want    http.Header
	}{
		"no page":                   {nil, "POST", nil, 200, http.Header{}},
		"no page, where some may":   {[]string{page}, "POST", nil, 200, http.Header{"Vary": {"Origin"}}},
		"a page of this host":       {nil, "POST", http.Header{"Origin": {"http://agent.example"}}, 200, http.Header{}},
		"a page of this host, port": {nil, "POST", http.Header{"Origin": {"https://AGENT.example:443"}}, 200, http.Header{}},
		"another port":              {nil, "POST", http.Header{"Origin": {"http://agent.example:81"}}, 403, http.Header{}},
		"a page":                    {nil, "POST", http.Header{"Origin": {page}}, 403, http.Header{}},
		"a page that reads":         {nil, "GET", http.Header{"Origin": {page}}, 403, http.Header{}},
		"preflight":                 {nil, "OPTIONS", http.Header{"Origin": {page}, "Access-Control-Request-Method": {"POST"}}, 403, http.Header{}},
		"an allowed page": {[]string{page}, "POST", http.Header{"Origin": {page}}, 200, http.Header{
			"Vary": {"Origin"}, "Access-Control-Allow-Origin": {page}, "Access-Control-Expose-Headers": {corsExposed},
		}},
		"its preflight": {[]string{page}, "OPTIONS", http.Header{"Origin": {page}, "Access-Control-Request-Method": {"POST"}}, 204, http.Header{
			"Vary": {"Origin", "Access-Control-Request-Method, Access-Control-Request-Headers"}, "Access-Control-Allow-Origin": {page},
			"Access-Control-Allow-Methods": {corsMethods}, "Access-Control-Allow-Headers": {corsHeaders + ", X-API-Key"}, "Access-Control-Max-Age": {"600"},
		}},
		"another page":   {[]string{page}, "POST", http.Header{"Origin": {page + ".evil.example"}}, 403, http.Header{"Vary": {"Origin"}}},
		"another scheme": {[]string{page}, "POST", http.Header{"Origin": {"http://app.example.com"}}, 403, http.Header{"Vary": {"Origin"}}},
		"null":           {[]string{page}, "POST", http.Header{"Origin": {"null"}}, 403, http.Header{"Vary": {"Origin"}}},
		"two":            {[]string{page}, "POST", http.Header{"Origin": {page, page}}, 403, http.Header{"Vary": {"Origin"}}},
		"any page": {[]string{"*"}, "POST", http.Header{"Origin": {"null"}}, 200, http.Header{
			"Access-Control-Allow-Origin": {"*"}, "Access-Control-Expose-Headers": {corsExposed},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			access := &sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{APIKey: &sidecarconfig.APIKeyAuthentication{Header: "X-API-Key"}}}}
			if test.allowed != nil {
				access.CORS = &sidecarconfig.CORS{AllowedOrigins: test.allowed}
			}
			served := false
			h := checkOrigin(func() *sidecarconfig.Access { return access }, isCard, forbid)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
			r := httptest.NewRequest(test.method, "http://agent.example/", nil)
			r.Header = test.headers
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header().Clone()
			got.Del("Content-Type")
			got.Del("X-Content-Type-Options")
			if diff := cmp.Diff(test.want, got); diff != "" || w.Code != test.status || served != (test.status == http.StatusOK) {
				t.Errorf("status %d, headers (-want +got):\n%s", w.Code, diff)
			}
		})
	}
}

// isCard is the argument forAll of checkOrigin.
func isCard(r *http.Request) bool { return r.URL.Path == "/card" }

// TestOriginsOfCards checks that every page may read a card, and may ask for it.
func TestOriginsOfCards(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodOptions} {
		served := false
		h := checkOrigin(func() *sidecarconfig.Access { return &sidecarconfig.Access{} }, isCard, forbid)(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
		r := httptest.NewRequest(method, "http://agent.example/card", nil)
		r.Header.Set("Origin", "https://page.example")
		r.Header.Set("Access-Control-Request-Method", http.MethodGet)
		if h.ServeHTTP(httptest.NewRecorder(), r); !served {
			t.Errorf("%s is refused", method)
		}
	}
}

// An attacker on the network can change a page that was loaded by http, and its browser
// may send the user's certificate to a sidecar with TLS.
func TestOriginsOfTLS(t *testing.T) {
	for origin, want := range map[string]int{
		"https://agent.example": 200, "https://agent.example:443": 200,
		"http://agent.example": 403, "http://agent.example:80": 403, "http://agent.example:443": 403,
	} {
		h := checkOrigin(func() *sidecarconfig.Access { return &sidecarconfig.Access{} }, isCard, forbid)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r := httptest.NewRequest(http.MethodPost, "https://agent.example/", nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s = %d, want %d", origin, w.Code, want)
		}
	}
}
