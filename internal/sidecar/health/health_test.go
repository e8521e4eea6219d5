// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// clock is a clock whose time the tests set.
type clock struct{ now time.Time }

func newTracker() (*Tracker, *clock) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return New(func() time.Time { return c.now }), c
}

func neverReached(s Status) bool { return !s.Reached }

func TestStates(t *testing.T) {
	tracker, now := newTracker()
	store := tracker.Add(sidecarconfig.DependencyTaskStore, Options{Blocks: neverReached, LostAfter: 5 * time.Second})
	is := func(state State, ready bool) {
		t.Helper()
		if got := store.Status().State; got != state {
			t.Errorf("state = %s, want %s", got, state)
		}
		if err := tracker.Ready(); (err == nil) != ready {
			t.Errorf("Ready() = %v, want ready %t", err, ready)
		}
	}
	is(Pending, false)
	store.Failf(sidecarconfig.CauseRefused, "redis:6379: connection refused")
	is(NeverReached, false)
	store.Failf(sidecarconfig.CauseAuthentication, "redis:6379: WRONGPASS")
	is(Wrong, false)
	store.Succeeded()
	is(Healthy, true)
	store.Failf(sidecarconfig.CauseTimedOut, "redis:6379: no answer in time")
	is(Healthy, true) // a single failure does not count
	now.now = now.now.Add(5 * time.Second)
	store.Failf(sidecarconfig.CauseTimedOut, "redis:6379: no answer in time")
	is(Lost, true)
	store.Failf(sidecarconfig.CauseAuthentication, "redis:6379: WRONGPASS")
	is(Wrong, true)
	store.Succeeded()
	is(Healthy, true)
	store.Failf(sidecarconfig.CauseTimedOut, "redis:6379: no answer in time")
	is(Healthy, true) // the earlier failures do not count any more
}

func TestReport(t *testing.T) {
	tracker, _ := newTracker()
	keys := tracker.Add(sidecarconfig.DependencyIssuerKeys, Options{})
	store := tracker.Add(sidecarconfig.DependencyTaskStore, Options{})
	changed := func() bool {
		select {
		case <-tracker.Changed():
			return true
		default:
			return false
		}
	}
	if diff := cmp.Diff(sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{}}, tracker.Report()); diff != "" || changed() {
		t.Errorf("Report() of what was not tried (-want +got):\n%s", diff)
	}
	keys.Failf(sidecarconfig.CauseHTTPStatus, "GET %s: 404\nNot Found", "https://issuer/keys")
	store.Failf(sidecarconfig.CauseRefused, "%s", strings.Repeat("ü", sidecarconfig.MaxHealthMessage))
	if !changed() {
		t.Error("failures are no change")
	}
	got := tracker.Report()
	want := sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{
		{Dependency: sidecarconfig.DependencyTaskStore, Cause: sidecarconfig.CauseRefused, Message: got.Dependencies[0].Message},
		{Dependency: sidecarconfig.DependencyIssuerKeys, Cause: sidecarconfig.CauseHTTPStatus, Message: "GET https://issuer/keys: 404 Not Found"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Report() (-want +got):\n%s", diff)
	}
	if m := got.Dependencies[0].Message; len(m) > sidecarconfig.MaxHealthMessage || !strings.HasSuffix(m, "ü…") {
		t.Errorf("message has %d bytes and ends with %q", len(m), m[len(m)-8:])
	}
	keys.Failf(sidecarconfig.CauseHTTPStatus, "GET %s: 404\nNot Found", "https://issuer/keys")
	if changed() {
		t.Error("the same failure again is a change")
	}
	keys.Succeeded()
	tracker.Remove(store)
	if diff := cmp.Diff(sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{}}, tracker.Report()); diff != "" || !changed() {
		t.Errorf("Report() of what is well again (-want +got):\n%s", diff)
	}
}

func TestMetric(t *testing.T) {
	tracker, _ := newTracker()
	tracker.Add(sidecarconfig.DependencyTaskStore, Options{}).Failf(sidecarconfig.CauseRefused, "x")
	registry := prometheus.NewRegistry()
	registry.MustRegister(tracker)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		got[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()+" "+m.GetLabel()[2].GetValue()] = m.GetGauge().GetValue()
	}
	want := map[string]float64{"ConnectionRefused TaskStore never_reached": 1}
	if diff := cmp.Diff(want, got); diff != "" || families[0].GetName() != "a2a_dependency_state" {
		t.Errorf("%s (-want +got):\n%s", families[0].GetName(), diff)
	}
}

func TestCauseOf(t *testing.T) {
	leaf := &x509.Certificate{NotBefore: time.Unix(0, 0), NotAfter: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for want, err := range map[string]error{
		`NameResolutionFailed host "redis": no such host`:           &net.DNSError{Name: "redis", Err: "no such host", IsNotFound: true},
		`NameResolutionFailed DNS does not answer for host "redis"`: &net.DNSError{Name: "redis", Err: "i/o timeout", IsTimeout: true},
		`NameResolutionFailed host "redis": server misbehaving`:     &net.DNSError{Name: "redis", Err: "server misbehaving", IsTemporary: true},
		"Missing /etc/password is not mounted":                      &fs.PathError{Op: "open", Path: "/etc/password", Err: syscall.ENOENT},
		"ConnectionRefused connection refused":                      &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"ConnectionTimedOut no answer in time":                      &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
		"ConnectionFailed the server closes the connection":         &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		"TLSFailed the server does not speak TLS":                   tls.RecordHeaderError{},
		"TLSFailed tls: bad certificate":                            &net.OpError{Op: "remote error", Err: tls.AlertError(42)},
		"TLSFailed the certificate of the server is valid from 1970-01-01T00:00:00Z until 2026-01-02T03:04:05Z": &tls.CertificateVerificationError{
			Err: x509.CertificateInvalidError{Reason: x509.Expired, Cert: leaf},
		},
		"ProxyFailed p:3128: the proxy refuses the credential, or requires one (status 407)": &egress.ProxyError{Proxy: "p:3128", Status: 407, Err: errors.New("x")},
		"ProxyFailed p:3128: the proxy refuses the connection (status 403)":                  &egress.ProxyError{Proxy: "p:3128", Status: 403, Err: errors.New("x")},
		"ProxyFailed proxy p:3128: no answer in time":                                        &egress.ProxyError{Proxy: "p:3128", Err: context.DeadlineExceeded},
		"ConnectionFailed inner": fmt.Errorf("outer 127.0.0.1:4711: %w", fmt.Errorf("inner")),
	} {
		cause, text := CauseOf(fmt.Errorf("dial: %w", err))
		if got := string(cause) + " " + text; got != want {
			t.Errorf("CauseOf(%v) = %q, want %q", err, got, want)
		}
	}
	if cause, _ := CauseOf(context.DeadlineExceeded); cause != sidecarconfig.CauseTimedOut {
		t.Errorf("CauseOf(deadline exceeded) = %s", cause)
	}
}

// TestCauseOfARefusedDNSQuery queries a DNS server that does not run, twice. The errors
// of Go contain the local port, which differs each time. A text that changes would cause
// a report to the operator, and a write to the API server, for each attempt.
func TestCauseOfARefusedDNSQuery(t *testing.T) {
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.LocalAddr().String()
	_ = closed.Close()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", address)
	}}
	for range 2 {
		_, err := resolver.LookupHost(t.Context(), "redis.example.")
		cause, text := CauseOf(err)
		if want := `DNS does not answer for host "redis.example."`; cause != sidecarconfig.CauseNameResolution || text != want {
			t.Errorf("CauseOf(%v) = %s, %q, want %q", err, cause, text, want)
		}
	}
}
