// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writePEM writes a block of PEM to a file.
func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// renew writes a new client certificate with a serial number, and its key.
func renew(t *testing.T, certificate, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, certificate, "CERTIFICATE", der)
	writePEM(t, key, "EC PRIVATE KEY", encoded)
}

func TestRenewedCertificatesAreUsed(t *testing.T) {
	serials := make(chan int64, 1)
	collector := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		serials <- r.TLS.PeerCertificates[0].SerialNumber.Int64()
	}))
	collector.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	collector.StartTLS()
	t.Cleanup(collector.Close)
	dir := t.TempDir()
	ca, certificate, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	renew(t, certificate, key, 1)
	writePEM(t, ca, "CERTIFICATE", collector.Certificate().Raw)
	config, err := ConfigOf(Config{}, func(name string) string {
		return map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE": ca,
			"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": certificate, "OTEL_EXPORTER_OTLP_CLIENT_KEY": key,
		}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	config.setDefaults()
	c := newClient(&config, Options{})
	t.Cleanup(c.stop)
	for _, want := range []int64{1, 2} {
		renew(t, certificate, key, want)
		if _, err := c.post(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := <-serials; got != want {
			t.Errorf("collector received certificate %d, want %d", got, want)
		}
		c.transport.CloseIdleConnections()
	}
	renew(t, ca, key, 3) // an authority that did not sign the certificate of the collector
	if _, err := c.post(t.Context(), nil); err == nil {
		t.Error("a collector of a removed authority is trusted")
	}
}
