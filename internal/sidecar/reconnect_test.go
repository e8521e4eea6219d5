// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestGatewayPresentsItsCertificate calls an agent that admits client certificates only, through the gateway of another agent whose
// certificate is replaced, until after the end of the former one: no call fails, although connections are kept open.
func TestGatewayPresentsItsCertificate(t *testing.T) {
	servers, clients, dir, caDir, own := newAuthority(t, "servers"), newAuthority(t, "clients"), t.TempDir(), t.TempDir(), t.TempDir()
	servers.mountCertificate(dir, "callee")
	mount(t, caDir, map[string][]byte{"ca.crt": clients.pem, "servers.crt": servers.pem})
	principals := make(chan string, 1)
	callee := newPodWith(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		respondHi(w, r)
	}, func(c *sidecarconfig.Config) {
		c.Access.Authentication = nil
		withMTLS()(c)
	}, func(o *settings.Options) {
		o.TLS = dir
		o.MTLSCABundle = filepath.Join(caDir, "ca.crt")
	})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(callee.sidecar.Addresses().Agent)
	start := func(certificate string) *pod {
		return newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
			c.Gateway = &sidecarconfig.Gateway{RegistryURL: registryOf(t, "team/callee"), AgentURL: "https://localhost:" + port, TokenFile: token}
		}, func(o *settings.Options) {
			o.TrustBundle = filepath.Join(caDir, "servers.crt")
			o.ClientCertificate = certificate
		})
	}
	call := func(p *pod) (int, string) {
		response, body := p.do("POST", "http://"+p.sidecar.Addresses().Gateway+"/agents/team/callee/", hello)
		return response.StatusCode, body
	}
	if status, body := call(start("")); status != http.StatusUnauthorized || !strings.Contains(body, "UNAUTHENTICATED") && !strings.Contains(body, "credential") {
		t.Errorf("without a certificate: %d %s", status, body)
	}
	with := start(own)
	expire := time.Now().Add(2 * time.Second).Truncate(time.Second)
	const first, second = "spiffe://example.org/ns/team/sa/first", "spiffe://example.org/ns/team/sa/second"
	rotate := func(id string, change func(*x509.Certificate)) {
		certificate, key := clients.issue(func(c *x509.Certificate) {
			withSPIFFEIDs(t, id)(c)
			change(c)
		})
		mount(t, own, map[string][]byte{"tls.crt": certificate, "tls.key": key})
	}
	calls := 0
	pace := time.NewTicker(20 * time.Millisecond) // the callee limits the requests of a caller
	defer pace.Stop()
	callAs := func() string {
		t.Helper()
		<-pace.C
		status, body := call(with)
		if calls++; status != http.StatusOK {
			t.Fatalf("call %d: %d %s", calls, status, body)
		}
		return <-principals
	}
	rotate(first, func(c *x509.Certificate) { c.NotAfter = expire })
	if got := callAs(); got != first {
		t.Errorf("principal %q, want %q", got, first)
	}
	rotate(second, func(*x509.Certificate) {})
	expiry := func() string {
		_, body := with.do("GET", "http://"+with.sidecar.Addresses().Health+"/metrics", "")
		_, value, _ := strings.Cut(body, "\na2a_client_certificate_expiry_timestamp_seconds ")
		value, _, _ = strings.Cut(value, "\n")
		return value
	}
	if got := expiry(); got == "0" || got == "" {
		t.Errorf("the metric of the expiry is %q", got)
	}
	for got := first; got != second; {
		got = callAs()
	}
	for !time.Now().After(expire.Add(time.Second)) {
		if got := callAs(); got != second {
			t.Fatalf("principal %q after %q", got, second)
		}
	}
	t.Logf("%d calls", calls)
}

// TestDirectoryOfTheClientCertificateIsRequired starts a sidecar whose directory does not exist, or is a file.
func TestDirectoryOfTheClientCertificateIsRequired(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tls.crt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/none", file} {
		o := standaloneOptions(t, respondHi)
		o.ClientCertificate = dir
		_, err := Open(t.Context(), o, slog.New(slog.DiscardHandler), time.Now)
		if err == nil || !strings.Contains(err.Error(), "--client-certificate is "+dir+", which is no directory: create it, with tls.crt and tls.key, or remove the flag") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
