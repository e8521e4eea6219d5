// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert serves TLS with the certificate in a mounted Secret, and replaces the
// certificate when the Secret changes. It does not serve a certificate that clients would refuse.
package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
)

// The files of a Secret of type kubernetes.io/tls. cert-manager adds the file authoritiesFile, with
// the certificate of the issuer.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	authoritiesFile = "ca.crt"
)

const (
	// pollInterval is the interval between two reads of the files.
	pollInterval = 10 * time.Second
	// maxFile bounds a file, in bytes.
	maxFile = 1 << 20
	// handoverDelay is how long the former certificate is still served after the Secret has a
	// certificate of another authority. During this time, the operator writes the new authority
	// into the sidecar configurations, and kubelets update the mounted files.
	handoverDelay = 15 * time.Minute
)

// Options configure a Certificate.
type Options struct {
	// Directory is the directory with tls.crt, tls.key and, optionally, ca.crt.
	Directory string
	// Listener is the value of the label "listener" of the metrics: ListenerRegistry or ListenerUI.
	Listener string
	Clock    clock.PassiveClock
	Log      logr.Logger
}

// Certificate is the serving certificate of a listener. Its methods are safe for
// concurrent use.
type Certificate struct {
	options Options

	mu sync.Mutex
	// served is nil until the Secret has a certificate that clients accept.
	served *tls.Certificate
	// authorities are the authorities in the Secret from which the served certificate is, nil if
	// that Secret had none. Clients verify the served certificate with them.
	authorities *x509.CertPool
	// waiting is the content of files whose certificate is from another authority than the served
	// one. This certificate is served from the time handover on.
	waiting  []byte
	handover time.Time
	// read is the content of the files at the last logged attempt, or the text of the error of
	// reading them. refused is the reason why the content is not served, or nil if it is served.
	read    []byte
	refused error
}

// New reads the certificate in a directory. If there is no usable certificate, New logs the reason.
// Until Run reads a usable certificate, handshakes fail, and Ready returns the reason.
func New(o Options) *Certificate {
	c := &Certificate{options: o}
	c.reload()
	return c
}

// Run reads the files every ten seconds until ctx ends, and serves a changed certificate (hot
// reload).
func (c *Certificate) Run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) { c.reload() }, pollInterval)
}

// TLSConfig returns the TLS configuration of the listener, for TLS 1.2 and 1.3.
func (c *Certificate) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.served == nil {
				return nil, c.refused
			}
			return c.served, nil
		},
	}
}

// Ready is a readiness check. It returns an error if no certificate is served, or if clients refuse
// the served certificate because it has expired or is not valid yet.
func (c *Certificate) Ready(*http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.served == nil {
		return c.refused
	}
	if err := checkValidity(c.served.Leaf, c.options.Clock.Now()); err != nil {
		return errors.Join(fmt.Errorf("the certificate that the registry serves %w", err), c.refused)
	}
	return nil
}

// files is the content of the mounted Secret.
type files struct{ certificate, key, authorities []byte }

func (f *files) bytes() []byte {
	return bytes.Join([][]byte{f.certificate, f.key, f.authorities}, []byte{0})
}

// reload reads the files, and serves the certificate in them if clients accept it. If that
// certificate is from another authority, and the former certificate is still valid, reload serves
// the new one only from its handover on. In all other cases, the former certificate stays in use.
func (c *Certificate) reload() {
	files, err := c.readFiles()
	read := files.bytes()
	if err != nil {
		read = []byte(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(read, c.read) && c.refused == nil {
		return
	}
	var pair tls.Certificate
	var authorities *x509.CertPool
	if err == nil {
		authorities, err = parseAuthorities(files.authorities)
	}
	if err == nil {
		pair, err = c.parse(&files, authorities)
	}
	if err == nil && c.waits(&pair, authorities, read) {
		return
	}
	again := bytes.Equal(read, c.read) && err != nil && c.refused != nil && err.Error() == c.refused.Error()
	c.read = read
	c.waiting = nil
	c.refused = err
	switch {
	case again:
	case err != nil:
		reloads.WithLabelValues(c.options.Listener, "error").Inc()
		refused.WithLabelValues(c.options.Listener).Set(1)
		c.options.Log.Error(err, "serving certificate of the registry refused", "directory", c.options.Directory, "servesFormer", c.served != nil)
	default:
		reloads.WithLabelValues(c.options.Listener, "success").Inc()
		refused.WithLabelValues(c.options.Listener).Set(0)
		notBefore.WithLabelValues(c.options.Listener).Set(float64(pair.Leaf.NotBefore.Unix()))
		expiry.WithLabelValues(c.options.Listener).Set(float64(pair.Leaf.NotAfter.Unix()))
		c.served = &pair
		c.authorities = authorities
		c.options.Log.Info("serving certificate of the registry loaded", "directory", c.options.Directory,
			"names", pair.Leaf.DNSNames, "notAfter", pair.Leaf.NotAfter.UTC())
	}
}

// parseAuthorities returns the authorities in a PEM text, or nil if there are none. If the authorities cannot be
// used, it returns an error, because clients then continue to use the former ones.
func parseAuthorities(text []byte) (*x509.CertPool, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil // having no authorities is no error
	}
	pool, err := egress.ParseAuthorities(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: it %w", authoritiesFile, err)
	}
	return pool, nil
}

// waits reports whether the listener must still serve the former certificate instead of pair, until
// the handover. This is so if the former certificate is valid, and the CAs of the former files do
// not verify pair: clients possibly do not trust the new CA yet. The handover is handoverDelay
// after the first call with a new pair. If neither the former nor the new files have a ca.crt,
// clients get their CAs from elsewhere, and waits returns false. The caller holds mu.
func (c *Certificate) waits(pair *tls.Certificate, authorities *x509.CertPool, read []byte) bool {
	now := c.options.Clock.Now()
	if c.served == nil || checkValidity(c.served.Leaf, now) != nil {
		return false
	}
	if c.authorities == nil && authorities == nil || c.authorities != nil && verify(c.authorities, pair, now) == nil {
		return false
	}
	if !bytes.Equal(read, c.waiting) {
		c.waiting = read
		c.handover = now.Add(handoverDelay)
		// Because c.read is nil, reload handles it as a change if the files get their earlier
		// content again.
		c.read = nil
		c.refused = nil
		refused.WithLabelValues(c.options.Listener).Set(0)
		c.options.Log.Info("found a serving certificate of a new authority; the former certificate is served until clients trust that authority",
			"directory", c.options.Directory, "handover", c.handover.UTC())
	}
	return now.Before(c.handover)
}

// verify returns an error if clients with the given authorities refuse a certificate.
func verify(authorities *x509.CertPool, pair *tls.Certificate, now time.Time) error {
	intermediates := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(c)
		}
	}
	_, err := pair.Leaf.Verify(x509.VerifyOptions{
		Roots: authorities, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

func (c *Certificate) readFiles() (f files, err error) {
	if f.certificate, err = boundedfile.Read(filepath.Join(c.options.Directory, certificateFile), maxFile); err != nil {
		return files{}, err
	}
	if f.key, err = boundedfile.Read(filepath.Join(c.options.Directory, keyFile), maxFile); err != nil {
		return files{}, err
	}
	f.authorities, err = boundedfile.Read(filepath.Join(c.options.Directory, authoritiesFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return f, err
}

func (c *Certificate) parse(f *files, authorities *x509.CertPool) (tls.Certificate, error) {
	pair, err := tls.X509KeyPair(f.certificate, f.key)
	if err != nil {
		return pair, fmt.Errorf("read %s and %s: %w", certificateFile, keyFile, err)
	}
	now := c.options.Clock.Now()
	if err := checkValidity(pair.Leaf, now); err != nil {
		return pair, fmt.Errorf("the certificate in %s %w", certificateFile, err)
	}
	if authorities != nil {
		if err := verify(authorities, &pair, now); err != nil {
			return pair, fmt.Errorf("the authorities in %s do not verify the certificate in %s; issue it again, or correct the authorities: %w",
				authoritiesFile, certificateFile, err)
		}
	}
	return pair, nil
}

// checkValidity returns an error if a certificate has expired or is not valid yet.
func checkValidity(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("is not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("expired at %s: renew it", leaf.NotAfter.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// The listeners with a certificate: the registry, and the page for people.
const (
	ListenerRegistry = "registry"
	ListenerUI       = "ui"
)

var (
	expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_registry_tls_certificate_expiry_timestamp_seconds",
		Help: "Unix time at which the certificate that the listener serves expires; 0 without TLS.",
	}, []string{"listener"})
	notBefore = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_registry_tls_certificate_not_before_timestamp_seconds",
		Help: "Unix time from which the certificate that the listener serves is valid; 0 without TLS.",
	}, []string{"listener"})
	refused = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_registry_tls_certificate_refused",
		Help: "Whether the mounted certificate of the listener is refused (1), so that a former one or none is served, or not (0).",
	}, []string{"listener"})
	reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_tls_certificate_reloads_total",
		Help: "Loads of a changed certificate of the listener, by the result: success or error.",
	}, []string{"listener", "result"})
)

// Collectors returns the metrics, which all Certificates of a process share. For a listener without TLS, the gauges
// are 0.
func Collectors() []prometheus.Collector {
	for _, listener := range []string{ListenerRegistry, ListenerUI} {
		notBefore.WithLabelValues(listener)
		expiry.WithLabelValues(listener)
		refused.WithLabelValues(listener)
	}
	return []prometheus.Collector{notBefore, expiry, refused, reloads}
}
