// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// start is the earliest time at which the certificates of the tests are valid.
var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// secret is a directory like the mount of a Secret.
type secret struct{ dir string }

func newSecret(t *testing.T) secret { return secret{t.TempDir()} }

// put writes a self-signed certificate with a serial number, and returns it as PEM.
func (s secret) put(t *testing.T, serial int64, notBefore, notAfter time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "registry"}, DNSNames: []string{"registry.test"},
		NotBefore: notBefore, NotAfter: notAfter, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
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
	s.write(t, certificateFile, certificate)
	s.write(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return certificate
}

func (s secret) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serial returns the serial number of the certificate that is served, 0 for none.
func serial(c *Certificate) int64 {
	served, err := c.TLSConfig().GetCertificate(nil)
	if err != nil {
		return 0
	}
	return served.Leaf.SerialNumber.Int64()
}

// value returns the value of a gauge of the registry.
func value(t *testing.T, name string) float64 {
	t.Helper()
	return valueOf(t, name, ListenerRegistry)
}

// valueOf returns the value of a gauge of a listener.
func valueOf(t *testing.T, name, listener string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && metric.GetLabel()[0].GetValue() == listener {
				return metric.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s of %s", name, listener)
	return 0
}

// The page for people may have a certificate of its own. The metrics of this certificate do not
// replace those of the registry's certificate, which may be refused at the same time.
func TestListenersHaveTheirOwnMetrics(t *testing.T) {
	const refusals, expires = "a2a_registry_tls_certificate_refused", "a2a_registry_tls_certificate_expiry_timestamp_seconds"
	of, ui := newSecret(t), newSecret(t)
	of.put(t, 1, start, start.Add(time.Hour))
	ui.put(t, 2, start, start.Add(48*time.Hour))
	options := Options{Directory: of.dir, Listener: ListenerRegistry, Clock: testclock.NewFakePassiveClock(start), Log: funcr.New(func(string, string) {}, funcr.Options{})}
	c := New(options)
	of.write(t, certificateFile, []byte("garbage"))
	c.reload()
	options.Directory, options.Listener = ui.dir, ListenerUI
	New(options)
	if got := value(t, refusals); got != 1 {
		t.Errorf("metric of refusals of the registry = %v, want 1", got)
	}
	if got, want := value(t, expires), float64(start.Add(time.Hour).Unix()); got != want {
		t.Errorf("metric of the expiry of the registry = %v, want %v", got, want)
	}
	if got, want := valueOf(t, expires, ListenerUI), float64(start.Add(48*time.Hour).Unix()); got != want || valueOf(t, refusals, ListenerUI) != 0 {
		t.Errorf("metric of the expiry of the page = %v, want %v", got, want)
	}
}

func TestCertificateIsReplaced(t *testing.T) {
	now := testclock.NewFakePassiveClock(start)
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	s := newSecret(t)
	s.put(t, 1, start, start.Add(time.Hour))
	c := New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: now, Log: log})
	expect := func(what string, want int64, ready bool, refusals float64, logs ...string) {
		t.Helper()
		c.reload()
		c.reload() // the same files cause no further log entry
		if got := serial(c); got != want {
			t.Errorf("%s: certificate %d is served, want %d", what, got, want)
		}
		if err := c.Ready(nil); (err == nil) != ready {
			t.Errorf("%s: Ready() = %v, want ready %t", what, err, ready)
		}
		if got := value(t, "a2a_registry_tls_certificate_refused"); got != refusals {
			t.Errorf("%s: metric of refusals = %v, want %v", what, got, refusals)
		}
		if len(logged) != len(logs) {
			t.Errorf("%s: logged %q, want %q", what, logged, logs)
		}
		for i := range min(len(logged), len(logs)) {
			if !strings.Contains(logged[i], logs[i]) {
				t.Errorf("%s: logged %s, want %s", what, logged[i], logs[i])
			}
		}
		logged = nil
	}
	expect("first", 1, true, 0, "loaded")
	s.put(t, 2, start, start.Add(2*time.Hour))
	expect("renewed", 2, true, 0, "loaded")
	if got, want := value(t, "a2a_registry_tls_certificate_expiry_timestamp_seconds"), float64(start.Add(2*time.Hour).Unix()); got != want {
		t.Errorf("metric of the expiry = %v, want %v", got, want)
	}
	s.write(t, certificateFile, []byte("garbage"))
	expect("garbage", 2, true, 1, "failed to find any PEM data")
	s.put(t, 3, start.Add(-2*time.Hour), start.Add(-time.Hour))
	expect("expired", 2, true, 1, "expired at 2029-12-31T23:00:00Z")
	s.write(t, keyFile, make([]byte, maxFile+1))
	expect("too large", 2, true, 1, "larger than")
	if err := os.Remove(filepath.Join(s.dir, keyFile)); err != nil {
		t.Fatal(err)
	}
	expect("no key", 2, true, 1, "no such file")
	s.put(t, 4, start.Add(time.Minute), start.Add(3*time.Hour))
	expect("not valid yet", 2, true, 1, "is not valid before")
	now.SetTime(start.Add(time.Minute))
	expect("valid meanwhile", 4, true, 0, "loaded")
	now.SetTime(start.Add(4 * time.Hour))
	expect("expired while it is served", 4, false, 0)
	s.put(t, 5, start, start.Add(5*time.Hour))
	expect("renewed late", 5, true, 0, "loaded")
}

// Clients receive a new authority before the listener serves a certificate of this authority.
func TestNewAuthorityIsPublishedBeforeItsCertificateIsServed(t *testing.T) {
	now := testclock.NewFakePassiveClock(start)
	s := newSecret(t)
	put := func(number int64, notAfter time.Time) {
		t.Helper()
		s.write(t, authoritiesFile, s.put(t, number, start, notAfter))
	}
	expect := func(c *Certificate, what string, want int64) {
		t.Helper()
		c.reload()
		if got := serial(c); got != want || c.Ready(nil) != nil {
			t.Errorf("%s: certificate %d is served, want %d; Ready() = %v", what, got, want, c.Ready(nil))
		}
	}
	put(1, start.Add(time.Hour))
	c := New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: now, Log: funcr.New(func(string, string) {}, funcr.Options{})})
	expect(c, "first", 1)
	put(2, start.Add(24*time.Hour))
	expect(c, "another authority", 1)
	now.SetTime(start.Add(handoverDelay - time.Second))
	expect(c, "before the handover", 1)
	now.SetTime(start.Add(handoverDelay))
	expect(c, "at the handover", 2)

	// A certificate that clients already accept is served at once.
	third := s.put(t, 3, start, start.Add(25*time.Hour))
	second, err := os.ReadFile(filepath.Join(s.dir, authoritiesFile))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, authoritiesFile, append(second, third...))
	expect(c, "a bundle with a new authority", 2)
	now.SetTime(start.Add(2 * handoverDelay))
	expect(c, "at the second handover", 3)
	s.write(t, authoritiesFile, third)
	expect(c, "without the former authority", 3)

	// When the served certificate has expired, the new one is served at once.
	now.SetTime(start.Add(25*time.Hour - time.Minute))
	put(4, start.Add(48*time.Hour))
	expect(c, "shortly before the expiry", 3)
	now.SetTime(start.Add(25*time.Hour + time.Second))
	expect(c, "after the expiry", 4)
}

// The operator distributes the authorities of the Secret to clients. If these authorities do not
// verify the certificate of the Secret, clients would refuse it, so the listener does not serve it.
func TestCertificateOfNoAuthorityOfTheSecretIsRefused(t *testing.T) {
	s, other := newSecret(t), newSecret(t)
	authority := s.put(t, 1, start, start.Add(time.Hour))
	s.write(t, authoritiesFile, authority)
	c := New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: testclock.NewFakePassiveClock(start), Log: funcr.New(func(string, string) {}, funcr.Options{})})
	second := s.put(t, 2, start, start.Add(time.Hour))
	for what, authorities := range map[string][]byte{"the former": authority, "another": other.put(t, 3, start, start.Add(time.Hour))} {
		s.write(t, authoritiesFile, authorities)
		c.reload()
		if got, metric := serial(c), value(t, "a2a_registry_tls_certificate_refused"); got != 1 || metric != 1 {
			t.Errorf("with %s authority: certificate %d is served, metric of refusals = %v; want the former and 1", what, got, metric)
		}
		if len(c.waiting) > 0 {
			t.Errorf("with %s authority: the certificate waits for its handover", what)
		}
	}
	s.write(t, authoritiesFile, []byte("garbage"))
	c.reload()
	if got, metric, err := serial(c), value(t, "a2a_registry_tls_certificate_refused"), c.refused; got != 1 || metric != 1 || !strings.Contains(err.Error(), "read ca.crt: it contains no PEM certificate") {
		t.Errorf("with garbage: certificate %d is served, metric of refusals = %v, %v; want the former and 1", got, metric, err)
	}
	s.write(t, authoritiesFile, append(second, authority...))
	c.reload()
	if got := value(t, "a2a_registry_tls_certificate_refused"); got != 0 || len(c.waiting) == 0 {
		t.Errorf("with its authority: metric of refusals = %v, want 0; waiting = %t", got, len(c.waiting) > 0)
	}
	// Without a former certificate, none is served.
	s.write(t, authoritiesFile, authority)
	c = New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: testclock.NewFakePassiveClock(start), Log: funcr.New(func(string, string) {}, funcr.Options{})})
	if err := c.Ready(nil); serial(c) != 0 || err == nil || !strings.Contains(err.Error(), authoritiesFile) {
		t.Errorf("at the start: certificate %d is served, Ready() = %v", serial(c), err)
	}
}

// If the Secret had no authority, clients receive its first authority before the listener serves a
// certificate of this authority.
func TestFirstAuthorityIsPublishedBeforeItsCertificateIsServed(t *testing.T) {
	now := testclock.NewFakePassiveClock(start)
	s := newSecret(t)
	s.put(t, 1, start, start.Add(time.Hour))
	c := New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: now, Log: funcr.New(func(string, string) {}, funcr.Options{})})
	s.write(t, authoritiesFile, s.put(t, 2, start, start.Add(time.Hour)))
	c.reload()
	if got := serial(c); got != 1 {
		t.Errorf("certificate %d is served before the handover, want 1", got)
	}
	now.SetTime(start.Add(handoverDelay))
	c.reload()
	if got := serial(c); got != 2 {
		t.Errorf("certificate %d is served at the handover, want 2", got)
	}
}

// A certificate that was withdrawn before its handover waits again, because clients have lost its authority meanwhile.
func TestWithdrawnCertificateWaitsForItsHandoverAgain(t *testing.T) {
	now := testclock.NewFakePassiveClock(start)
	s, other := newSecret(t), newSecret(t)
	mount := func(from secret) {
		t.Helper()
		for _, name := range []string{certificateFile, keyFile, authoritiesFile} {
			content, err := os.ReadFile(filepath.Join(from.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			s.write(t, name, content)
		}
	}
	first := newSecret(t)
	first.write(t, authoritiesFile, first.put(t, 1, start, start.Add(time.Hour)))
	other.write(t, authoritiesFile, other.put(t, 2, start, start.Add(time.Hour)))
	mount(first)
	c := New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: now, Log: funcr.New(func(string, string) {}, funcr.Options{})})
	for _, from := range []secret{other, first} {
		mount(from)
		c.reload()
	}
	now.SetTime(start.Add(handoverDelay))
	mount(other)
	c.reload()
	if got := serial(c); got != 1 {
		t.Errorf("certificate %d is served, want 1 until a second handover", got)
	}
	// A refused content is refused again when the files return to it.
	s.write(t, certificateFile, []byte("garbage"))
	c.reload()
	mount(other)
	c.reload()
	s.write(t, certificateFile, []byte("garbage"))
	c.reload()
	if got := value(t, "a2a_registry_tls_certificate_refused"); got != 1 {
		t.Errorf("metric of refusals = %v, want 1", got)
	}
}

func TestMissingCertificateIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecret(t)
		c := New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: clock.RealClock{}, Log: funcr.New(func(string, string) {}, funcr.Options{})})
		if err := c.Ready(nil); err == nil || serial(c) != 0 {
			t.Errorf("without files: Ready() = %v, serial %d", err, serial(c))
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go c.Run(ctx)
		s.put(t, 1, time.Now(), time.Now().Add(time.Hour))
		time.Sleep(pollInterval)
		synctest.Wait()
		if err := c.Ready(nil); err != nil || serial(c) != 1 {
			t.Errorf("with files: Ready() = %v, serial %d", err, serial(c))
		}
	})
}

// A connection with the former certificate stays open, and a new connection receives the new
// certificate.
func TestListenerServesTheNewCertificate(t *testing.T) {
	s := newSecret(t)
	first := s.put(t, 1, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c := New(Options{Directory: s.dir, Listener: ListenerRegistry, Clock: clock.RealClock{}, Log: funcr.New(func(string, string) {}, funcr.Options{})})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, r.TLS.ServerName, r.Proto)
		}),
		TLSConfig: c.TLSConfig(), ReadHeaderTimeout: time.Second,
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	get := func(client *http.Client) (*big.Int, error) {
		response, err := client.Get("https://" + listener.Addr().String())
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if string(body) != "registry.testHTTP/2.0" {
			t.Errorf("answer = %s, %v", body, err)
		}
		return response.TLS.PeerCertificates[0].SerialNumber, err
	}
	client := func(authority []byte) *http.Client {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(authority)
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "registry.test", MinVersion: tls.VersionTLS12}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 10 * time.Second}
	}
	old := client(first)
	expect := func(c *http.Client, want int64) {
		t.Helper()
		if got, err := get(c); err != nil || got.Int64() != want {
			t.Errorf("certificate %v, %v; want %d", got, err, want)
		}
	}
	expect(old, 1)
	second := s.put(t, 2, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c.reload()
	expect(old, 1)
	expect(client(second), 2)
	if _, err := get(client(first)); err == nil {
		t.Error("a client that does not know the new authority is served")
	}
}
