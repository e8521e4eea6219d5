// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

// newNamed returns a client certificate with a name.
func newNamed(t *testing.T, name string) func(context.Context) (*tls.Certificate, error) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context) (*tls.Certificate, error) {
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
	}
}

// TestClientCertificateIsForItsHosts checks that only the hosts of the guard's own certificate get it, and that a certificate for one agent
// replaces it.
func TestClientCertificateIsForItsHosts(t *testing.T) {
	var presented atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		presented.Store("")
		if len(r.TLS.PeerCertificates) > 0 {
			presented.Store(r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	newGuard := func(hosts ...string) *Guard {
		return New(Options{
			Policy: &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Local: true}, Roots: func() *x509.CertPool { return roots },
			Certificate: newNamed(t, "own"), PresentsTo: func(host string) bool { return len(hosts) > 0 && host == hosts[0] },
		})
	}
	for name, test := range map[string]struct {
		guard *Guard
		want  string
	}{
		"another host":               {newGuard("other.example"), ""},
		"no host":                    {newGuard(), ""},
		"its host":                   {newGuard("127.0.0.1"), "own"},
		"that of an agent":           {newGuard().Present(newNamed(t, "of the agent")), "of the agent"},
		"that of an agent before it": {newGuard("127.0.0.1").Present(newNamed(t, "of the agent")), "of the agent"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := test.guard.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if presented.Load() != test.want {
			t.Errorf("%s: the server gets the certificate %q, want %q", name, presented.Load(), test.want)
		}
		test.guard.CloseIdleConnections()
	}
}
