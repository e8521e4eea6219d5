// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// issuer issues X.509-SVIDs.
type issuer struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	issued      int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key}
	if i.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return i
}

// next returns the files of the next certificate. Its serial number is one more than that of the last one.
func (i *issuer) next() map[string][]byte {
	i.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.issued++
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(i.issued), URIs: []*url.URL{{Scheme: "spiffe", Host: "example.org", Path: "/ns/team/sa/caller"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Minute),
	}, i.certificate, key.Public(), i.key)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		i.t.Fatal(err)
	}
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}),
	}
}

// writeFiles writes one file after the other, as a driver without atomic writes does.
func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// swapFiles replaces all files by one rename, as the kubelet and most drivers do.
func swapFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..") //nolint:usetesting // a folder of the volume
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, version, files)
	data := filepath.Join(dir, "..data")
	if err := os.Symlink(filepath.Base(version), data+"_next"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data+"_next", data); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
}

// TestClientCertificateRotatesUnderLoad replaces the certificate 40 times while eight callers open connections to an agent that requires one:
// no connection fails, and the last certificate is presented.
func TestClientCertificateRotatesUnderLoad(t *testing.T) {
	const rotations, callers = 40, 8
	for name, write := range map[string]func(*testing.T, string, map[string][]byte){"one rename": swapFiles, "one file after the other": writeFiles} {
		t.Run(name, func(t *testing.T) {
			issuer := newIssuer(t)
			var serial, calls atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				serial.Store(r.TLS.PeerCertificates[0].SerialNumber.Int64())
			}))
			authorities := x509.NewCertPool()
			authorities.AddCert(issuer.certificate)
			server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities, MinVersion: tls.VersionTLS12}
			server.StartTLS()
			defer server.Close()

			dir := t.TempDir()
			write(t, dir, issuer.next())
			s := &Store{}
			s.SetClientCertificate(NewClientCertificate(dir, nil, slog.New(slog.DiscardHandler)))
			if err := s.SetBundle(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})); err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{DialTLSContext: s.DialAgents(), DisableKeepAlives: true}}
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if err := get(t.Context(), client, server.URL); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			for i := range rotations {
				for deadline := time.Now().Add(20 * time.Second); calls.Load() < int64(5*i) && time.Now().Before(deadline) && !t.Failed(); {
					time.Sleep(time.Millisecond)
				}
				write(t, dir, issuer.next())
			}
			close(stop)
			wg.Wait()
			if err := get(t.Context(), client, server.URL); err != nil || serial.Load() != issuer.issued {
				t.Errorf("after the last rotation: certificate %d of %d, %v", serial.Load(), issuer.issued, err)
			}
			t.Logf("%d rotations, %d calls", rotations, calls.Load())

			// The other servers that a sidecar calls get no certificate.
			others := &http.Client{Transport: &http.Transport{DialTLSContext: s.DialTLS(), DisableKeepAlives: true}}
			if err := get(t.Context(), others, server.URL); err == nil {
				t.Error("a server that is no agent gets the certificate")
			}
		})
	}
}

func get(ctx context.Context, client *http.Client, target string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return err
}

// TestClientCertificateThatCannotBeRead checks that the former certificate stays in use, that each failure is logged once, and that the
// log has no key.
func TestClientCertificateThatCannotBeRead(t *testing.T) {
	issuer := newIssuer(t)
	dir := t.TempDir()
	var log bytes.Buffer
	c := NewClientCertificate(dir, nil, slog.New(slog.NewTextHandler(&log, nil)))
	expect := func(when string, certificates, lines int) {
		t.Helper()
		for range 3 {
			got, err := c.Current(t.Context())
			if err != nil || len(got.Certificate) != certificates {
				t.Errorf("%s: %d certificates, %v", when, len(got.Certificate), err)
			}
		}
		if n := strings.Count(log.String(), "client certificate of the sidecar cannot be read"); n != lines {
			t.Errorf("%s: %d lines in the log, want %d:\n%s", when, n, lines, log.String())
		}
	}
	expect("no files", 0, 1)
	writeFiles(t, dir, issuer.next())
	expect("the first certificate", 1, 1)
	next := issuer.next()
	writeFiles(t, dir, map[string][]byte{"tls.crt": next["tls.crt"]})
	expect("the certificate without its key", 1, 2)
	writeFiles(t, dir, map[string][]byte{"tls.key": bytes.Repeat([]byte("secret"), maxClientCertificate)})
	expect("a key that is too large", 1, 3)
	writeFiles(t, dir, next)
	expect("the second certificate", 1, 3)
	if err := os.Remove(filepath.Join(dir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	expect("a key that is gone", 1, 4)
	if strings.Contains(log.String(), "secret") || strings.Contains(log.String(), "BEGIN") {
		t.Errorf("the log has a key:\n%s", log.String())
	}
}

// TestClientCertificateReplacedBetweenReads replaces both files between the reads of the two: the new certificate is used, and nothing is logged.
func TestClientCertificateReplacedBetweenReads(t *testing.T) {
	issuer := newIssuer(t)
	dir := t.TempDir()
	var log bytes.Buffer
	c := NewClientCertificate(dir, nil, slog.New(slog.NewTextHandler(&log, nil)))
	read := c.read
	replaced := false
	c.read = func(file string, most int64) ([]byte, error) {
		if filepath.Base(file) == "tls.key" && !replaced {
			replaced = true
			swapFiles(t, dir, issuer.next())
		}
		return read(file, most)
	}
	swapFiles(t, dir, issuer.next())
	got, err := c.Current(t.Context())
	if err != nil || got.Leaf == nil || got.Leaf.SerialNumber.Int64() != 2 || log.Len() > 0 {
		t.Errorf("Current() = %+v, %v; log: %s", got.Leaf, err, log.String())
	}
}
