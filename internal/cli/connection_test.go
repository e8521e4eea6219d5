// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answering returns the handler of an agent of 1.0 that answers each call with a message. The card names the URL that
// address returns.
func answering(address func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"name":"a","description":"d","version":"1","supportedInterfaces":[{"url":"%s","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
				"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}`, address())
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Hello"}]}}}`)
	}
}

// authorityOf writes the certificate of a server into a file.
func authorityOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCallsGoThroughTheProxyOfTheEnvironment(t *testing.T) {
	const address = "https://example.com" // a host name in the certificate of httptest
	server := httptest.NewTLSServer(answering(func() string { return address }))
	defer server.Close()
	var tunnels atomic.Int32
	var refuse atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.com:443" || refuse.Load() {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		tunnels.Add(1)
		upstream, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			return
		}
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() }()
		_, _ = io.Copy(client, upstream)
		_ = client.Close()
	}))
	defer proxy.Close()
	args := []string{"send", "--url", address, "x", "--ca-file", authorityOf(t, server)}
	r := runProcess(t, []string{"HTTPS_PROXY=" + proxy.URL}, args...)
	if r.status != 0 || !strings.Contains(r.stdout, "Hello") || tunnels.Load() == 0 {
		t.Errorf("%d tunnels, %+v", tunnels.Load(), r)
	}
	refuse.Store(true)
	r = runProcess(t, []string{"HTTPS_PROXY=" + proxy.URL}, args...)
	if r.status != 3 || !strings.Contains(r.stderr, "A2ACLI_ERR_UNREACHABLE") || !strings.Contains(r.stderr, "Forbidden") || !strings.Contains(r.stderr, "HTTPS_PROXY") {
		t.Errorf("%+v", r)
	}
}

func TestASelfSignedAgentNeedsItsAuthority(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewTLSServer(answering(func() string { return server.URL }))
	defer server.Close()
	r := run(t, "send", "--url", server.URL, "x")
	if r.status != 3 || !strings.Contains(r.stderr, "is not trusted") || !strings.Contains(r.stderr, "--ca-file") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "send", "--url", server.URL, "x", "--ca-file", authorityOf(t, server)); r.status != 0 || !strings.Contains(r.stdout, "Hello") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "send", "--url", server.URL, "x", "--ca-file", "/nonexistent"); r.status != 2 || !strings.Contains(r.stderr, "--ca-file") {
		t.Errorf("%+v", r)
	}
}

// selfSigned writes a client certificate and its key into files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}
