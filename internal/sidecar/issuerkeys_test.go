// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

// The sidecar does not call its own node at a link-local address, even if an issuer names
// such an address for its keys.
func TestLinkLocalKeyURLsAreRejected(t *testing.T) {
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "http://"+r.Host)
	}))
	t.Cleanup(issuer.Close)
	transport := newIssuerKeys(&environment{}, nil).transport
	ask := func(address string) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	for _, address := range []string{
		"http://169.254.169.254/latest", "https://169.254.169.254/latest", "http://169.254.170.2/", "http://[fe80::1]/", "http://[fe80::1%25lo]/",
		"http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://168.63.129.16/", "http://100.100.100.200/", "http://0.0.0.0/", "http://[::]/",
	} {
		if err := ask(address); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := ask(issuer.URL); err != nil {
		t.Errorf("an issuer of this machine: %v", err)
	}
}
