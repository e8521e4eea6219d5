// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// maxCertificateWait bounds each wait for the expiry of a certificate. After a longer
// wait, a change of the machine's clock would be noticed late.
const maxCertificateWait = 10 * time.Minute

// servingCertificate tracks the served certificate of the A2A endpoint. It also tracks
// the failure of a newer mounted certificate that could not replace it. Its methods are
// safe for concurrent use.
type servingCertificate struct {
	tls    *serverconn.TLS
	health *health.Dependency
	now    func() time.Time
	// retry tries to use the mounted certificate again.
	retry func()
	// changed has an element when follow must compute its next wait.
	changed chan struct{}

	mu      sync.Mutex
	leaf    *x509.Certificate
	refused error
}

// newUnloadedCertificate returns a certificate without files, and adds it to tracker. While the
// certificate is not valid, the pod is not ready, because clients would refuse the
// connection.
func newUnloadedCertificate(tracker *health.Tracker, now func() time.Time) *servingCertificate {
	c := &servingCertificate{now: now, changed: make(chan struct{}, 1)}
	c.health = tracker.Add(sidecarconfig.DependencyServingCertificate, health.Options{
		Blocks: func(health.Status) bool { return c.outdated() },
	})
	return c
}

// outdated reports whether the served certificate is outside of its validity period.
func (c *servingCertificate) outdated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaf != nil && checkValidity(c.leaf, c.now()) != nil
}

// serve records the certificate that is served from now on.
func (c *servingCertificate) serve(leaf *x509.Certificate) {
	c.mu.Lock()
	c.leaf = leaf
	c.refused = nil
	c.mu.Unlock()
	c.updateHealth()
}

// report records the result of a reload. After an error, the former certificate stays in
// use.
func (c *servingCertificate) report(err error) {
	c.mu.Lock()
	c.refused = err
	c.mu.Unlock()
	c.updateHealth()
}

func (c *servingCertificate) updateHealth() {
	c.mu.Lock()
	leaf := c.leaf
	refused := c.refused
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	until := leaf.NotAfter.UTC().Format(time.RFC3339)
	cause, text := health.CertificateProblem(leaf, c.now())
	switch {
	case cause != "" && refused != nil:
		c.health.Failf(cause, "the certificate that is served %s, and the mounted certificate cannot replace it: %v", text, refused)
	case cause != "":
		c.health.Failf(cause, "the certificate that is served %s", text)
	case refused != nil:
		c.health.Failf(causeOfFiles(refused), "%v; the former certificate, which is valid until %s, is served", refused, until)
	default:
		c.health.Succeeded()
	}
}

// follow updates the health when the served certificate expires. It retries a refused
// certificate when its validity period begins. It returns when ctx ends.
func (c *servingCertificate) follow(ctx context.Context) {
	for {
		timer := time.NewTimer(c.wait())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.changed:
			timer.Stop()
		case <-timer.C:
			if c.refusedBecameValid() {
				c.retry()
			} else {
				c.updateHealth()
			}
		}
	}
}

// wait returns the time until the served certificate expires, or until a refused
// certificate becomes valid, but at most maxCertificateWait.
func (c *servingCertificate) wait() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := maxCertificateWait
	now := c.now()
	// NotAfter has no fraction of a second, and the certificate is valid for the whole
	// second. It has expired one second later.
	for _, at := range []time.Time{c.leaf.NotAfter.Add(time.Second), c.refusedNotBefore()} {
		if left := at.Sub(now); left > 0 {
			wait = min(wait, left)
		}
	}
	return wait
}

func (c *servingCertificate) refusedBecameValid() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	notBefore := c.refusedNotBefore()
	return !notBefore.IsZero() && !notBefore.After(c.now())
}

// refusedNotBefore returns the beginning of the validity period of a certificate that was
// refused because it is not valid yet. It returns the zero time if there is no such
// certificate. c.mu must be held.
func (c *servingCertificate) refusedNotBefore() time.Time {
	if validity, ok := errors.AsType[*validityError](c.refused); ok && validity.cause == sidecarconfig.CauseNotYetValid {
		return validity.notBefore
	}
	return time.Time{}
}

// newServingCertificate returns the certificate of the A2A endpoint, and the source that
// loads it from the files in dir. The source refuses a certificate that has expired or is not
// valid yet. At the start, the sidecar then ends. Later, the former certificate stays in use.
func newServingCertificate(e *environment, dir string) (*servingCertificate, *reload.Source) {
	c := newUnloadedCertificate(e.health, e.now)
	c.tls = serverconn.NewTLS(func() bool { return requestsClientCertificates(&e.current().Access) })
	source := &reload.Source{
		Name: "tls", Directories: []string{dir}, Report: c.report,
		Read: func() (reload.Files, error) {
			return reload.ReadFiles(dir, []string{certificateFile, keyFile}, issuerFile)
		},
		Use: func(files reload.Files) error {
			pair, err := tls.X509KeyPair(files[certificateFile], files[keyFile])
			if err != nil {
				return fmt.Errorf("%s and %s of %s: %w", certificateFile, keyFile, dir, err)
			}
			if err := checkValidity(pair.Leaf, e.now()); err != nil {
				return fmt.Errorf("%w (%s)", err, dir)
			}
			if issuer := files[issuerFile]; len(issuer) > 0 {
				if err := e.trust.SetIssuer(issuer); err != nil {
					return fmt.Errorf("%s of %s %w", issuerFile, dir, err)
				}
			}
			e.metrics.SetCertificateLifetime(pair.Leaf.NotBefore, pair.Leaf.NotAfter)
			c.tls.Swap(&pair)
			c.serve(pair.Leaf)
			return nil
		},
	}
	c.retry = func() { e.reloader.Retry(source) }
	return c, source
}

// requestsClientCertificates reports whether callers can authenticate by a client
// certificate.
func requestsClientCertificates(a *sidecarconfig.Access) bool {
	return slices.ContainsFunc(a.Authentication, func(each sidecarconfig.Authentication) bool {
		return each.Type == sidecarconfig.AuthenticationMTLS
	})
}
