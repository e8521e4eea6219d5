// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"testing"
)

// TestTrustedAddresses checks that net/http dials a server by an address that its URL makes trusted, also after the usual redirect to https.
func TestTrustedAddresses(t *testing.T) {
	for trusted, calls := range map[string]map[string]bool{
		"http://agents.corp": {
			"http://agents.corp/card.json": true, "https://agents.corp/": true, "https://agents.corp:8443/": false, "http://agents.corp:8080/": false,
			"https://other.corp/": false,
		},
		"https://agents.corp":      {"https://agents.corp:443/": true, "http://agents.corp/": false},
		"http://agents.corp:8080":  {"http://agents.corp:8080/": true, "https://agents.corp/": false},
		"http://Agents.Corp":       {"http://agents.corp/": true, "https://AGENTS.corp/": true},
		"https://bücher.example":   {"https://bücher.example/": true, "https://xn--bcher-kva.example/": true, "https://Bücher.example/": true},
		"http://[fd00::1]/catalog": {"https://[fd00::1]/": true, "https://[fd00::2]/": false},
	} {
		at, err := url.Parse(trusted)
		if err != nil {
			t.Fatal(err)
		}
		p := &publicDialer{direct: trustedAddresses(at)}
		for call, want := range calls {
			var isDirect bool
			client := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
				isDirect = p.isDirect(address)
				return nil, errors.New("no network")
			}}}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, call, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				_ = response.Body.Close()
				t.Fatalf("%s: a response without a network", call)
			}
			if isDirect != want {
				t.Errorf("catalog %s: a connection to %s is direct: %t", trusted, call, isDirect)
			}
		}
	}
}
