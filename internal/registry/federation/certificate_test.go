// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// certificateOf returns a certificate that signs itself.
func certificateOf(t *testing.T, template *x509.Certificate) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.IsCA = true
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A peer whose certificate has expired, has another name or another authority is reported with this cause, and logged once.
func TestFaultOfACertificateIsNamed(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	loopback := []net.IP{net.IPv4(127, 0, 0, 1)}
	for name, test := range map[string]struct {
		certificate *x509.Certificate
		trusted     bool
		want        string
	}{
		"expired": {
			&x509.Certificate{IPAddresses: loopback, NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)}, true,
			"not valid now: it is valid from " + now.Add(-2*time.Hour).UTC().Format(time.RFC3339) + " to " + now.Add(-time.Hour).UTC().Format(time.RFC3339),
		},
		"another name":      {&x509.Certificate{DNSNames: []string{"other.example"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}, true, "not for the name 127.0.0.1"},
		"another authority": {&x509.Certificate{IPAddresses: loopback, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}, false, "an authority that is not trusted here; set the caBundle"},
	} {
		t.Run(name, func(t *testing.T) {
			certificate, bundle := certificateOf(t, test.certificate)
			if !test.trusted {
				_, bundle = certificateOf(t, &x509.Certificate{NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)})
			}
			server := httptest.NewUnstartedServer(results())
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			t.Cleanup(server.Close)
			p := &fakePeer{Server: server, name: "bad"}
			var lines []string
			f := newFederationOf(t, "peers:\n- "+p.line(", insecure: true, timeout: 10s, caBundle: \""+strings.ReplaceAll(bundle, "\n", "\\n")+"\""))
			f.options.Log = funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
			for range 2 {
				_, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local())
				if reports[0].Outcome != Unreachable || !strings.Contains(reports[0].Message, test.want) {
					t.Errorf("report = %+v, want %s", reports[0], test.want)
				}
			}
			if len(lines) != 1 || !strings.Contains(lines[0], test.want) {
				t.Errorf("log = %q, want one line with %s", lines, test.want)
			}
		})
	}
}

// The metric has the time at which the certificate of a peer expires, until the peer is changed or removed.
func TestExpiryOfACertificateIsMeasured(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	certificate, bundle := certificateOf(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)})
	server := httptest.NewUnstartedServer(results())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	p := &fakePeer{Server: server, name: "measured"}
	f := newFederationOf(t, "peers:\n- "+p.line(", insecure: true, timeout: 10s, caBundle: \""+strings.ReplaceAll(bundle, "\n", "\\n")+"\""))
	if _, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local()); reports[0].Outcome != Success {
		t.Fatalf("report = %+v", reports[0])
	}
	want := float64(now.Add(time.Hour).Unix())
	if got := expiryOf(t, p.name); got != want {
		t.Errorf("the certificate expires at %f, want %f", got, want)
	}
	write(t, f.options.File, "peers:\n- "+newFakePeer(t, p.name, results()).line(""))
	f.reload()
	if got := expiryOf(t, p.name); got != 0 {
		t.Errorf("after the peer has got a server without TLS, its certificate expires at %f", got)
	}
}

// A search that runs while its peer is removed leaves no metric of the peer behind.
func TestRemovedPeerLeavesNoMetric(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	certificate, bundle := certificateOf(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)})
	asked, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		results()(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	p := &fakePeer{Server: server, name: "removed"}
	other := newFakePeer(t, "stays", results())
	f := newFederationOf(t, "peers:\n- "+p.line(", insecure: true, timeout: 10s, caBundle: \""+strings.ReplaceAll(bundle, "\n", "\\n")+"\""))
	outcome := make(chan Outcome, 1)
	go func() {
		_, reports, _ := f.Search(t.Context(), Query{Search: search("x", 10, "")}, local(), free)
		outcome <- reports[0].Outcome
	}()
	<-asked
	write(t, f.options.File, "peers:\n- "+other.line(""))
	f.reload()
	close(answer)
	if got := <-outcome; got != Success {
		t.Errorf("the outcome of the search is %s", got)
	}
	if got := expiryOf(t, p.name); got != 0 {
		t.Errorf("after the peer was removed, its certificate expires at %f", got)
	}
	if requests.DeletePartialMatch(prometheus.Labels{"peer": p.name})+requestDuration.DeletePartialMatch(prometheus.Labels{"peer": p.name}) != 0 {
		t.Error("after the peer was removed, its requests have metrics")
	}
}

// A search that runs while its peer is changed neither deletes nor sets the expiry of the certificate of the new peer with the same name.
func TestChangedPeerKeepsItsExpiry(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	secure := func(until time.Time, handler http.HandlerFunc) string {
		certificate, bundle := certificateOf(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: until})
		server := httptest.NewUnstartedServer(handler)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		server.StartTLS()
		t.Cleanup(server.Close)
		p := &fakePeer{Server: server, name: "changed"}
		return "peers:\n- " + p.line(", insecure: true, timeout: 10s, caBundle: \""+strings.ReplaceAll(bundle, "\n", "\\n")+"\"")
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	f := newFederationOf(t, secure(now.Add(time.Hour), func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		results()(w, r)
	}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = f.Search(t.Context(), Query{Search: search("x", 10, "")}, local(), free)
	}()
	<-asked
	write(t, f.options.File, secure(now.Add(2*time.Hour), results()))
	f.reload()
	if _, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local()); reports[0].Outcome != Success {
		t.Fatalf("report = %+v", reports[0])
	}
	close(answer)
	<-done
	if got, want := expiryOf(t, "changed"), float64(now.Add(2*time.Hour).Unix()); got != want {
		t.Errorf("after a search of the former peer, the certificate expires at %f, want %f", got, want)
	}
}

// expiryOf returns the value of the metric for a peer, 0 without one.
func expiryOf(t *testing.T, name string) float64 {
	t.Helper()
	collected := make(chan prometheus.Metric, 100)
	certificateExpiry.Collect(collected)
	close(collected)
	for metric := range collected {
		var m dto.Metric
		if err := metric.Write(&m); err != nil {
			t.Fatal(err)
		}
		if m.GetLabel()[0].GetValue() == name {
			return m.GetGauge().GetValue()
		}
	}
	return 0
}
