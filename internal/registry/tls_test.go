// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writeCertificate writes a self-signed certificate for 127.0.0.1, and returns it.
func writeCertificate(t *testing.T, dir string, notAfter time.Time) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return pool
}

// A registry with a certificate serves TLS and no plain HTTP. A registry whose certificate has
// expired runs, but is not ready.
func TestServerServesTLS(t *testing.T) {
	dir := t.TempDir()
	roots := writeCertificate(t, dir, time.Now().Add(time.Hour))
	informers := newFakeInformers()
	server, _ := start(t, Options{Cache: informers.cache(newClient(t)), Reviews: &apiServer{}, CertificateDir: dir})
	informers.synced()
	waitFor(t, func() error { return server.Ready(nil) })
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+server.options.BindAddress+"/v1/agents", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer token")
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.TLS == nil {
		t.Errorf("over TLS: %s", response.Status)
	}
	if err := status(t, "http://"+server.options.BindAddress+"/v1/agents", "token", http.StatusUpgradeRequired); err != nil {
		t.Error(err)
	}

	writeCertificate(t, dir, time.Now().Add(-time.Hour))
	informers = newFakeInformers()
	expired, _ := start(t, Options{Cache: informers.cache(newClient(t)), Reviews: &apiServer{}, CertificateDir: dir})
	informers.synced()
	waitFor(t, func() error {
		if expired.feed.Current() == nil {
			return errNotIndexed
		}
		return nil
	})
	if err := expired.Ready(nil); err == nil {
		t.Error("a registry with an expired certificate is ready")
	}
}
