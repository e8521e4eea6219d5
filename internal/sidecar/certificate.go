// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"crypto/x509"
	"errors"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// certificateError is about a certificate outside of its validity period.
type certificateError struct {
	cause sidecarconfig.HealthCause
	text  string
	// from is the beginning of the period.
	from time.Time
}

// Error implements error.
func (e *certificateError) Error() string { return certificateFile + " " + e.text }

// currentCertificate returns an error for a certificate that clients refuse at
// a time because of its dates.
func currentCertificate(leaf *x509.Certificate, now time.Time) error {
	if cause, text := health.CertificateProblem(leaf, now); cause != "" {
		return &certificateError{cause, text, leaf.NotBefore}
	}
	return nil
}

// mountTLS is the name of the mount that holds the certificate.
const mountTLS = "tls"

// maxCertificateWait bounds the time between two looks at the clock, which may be
// set meanwhile.
const maxCertificateWait = 10 * time.Minute

// servedCertificate is the certificate of the A2A endpoint, and the one that
// was mounted after it and could not replace it. Its methods are safe for
// concurrent use.
type servedCertificate struct {
	health *health.Dependency
	now    func() time.Time
	// changed has an element when follow has to compute its next wait.
	changed chan struct{}

	mu      sync.Mutex
	leaf    *x509.Certificate
	refused error
}

// trackCertificate adds the certificate. While it is expired the pod is not
// ready, for clients refuse the connection.
func (s *Sidecar) trackCertificate() *servedCertificate {
	c := &servedCertificate{now: s.now, changed: make(chan struct{}, 1)}
	c.health = s.health.Add(sidecarconfig.DependencyServingCertificate, health.Options{
		Blocks: func(health.Status) bool { return c.outdated() },
	})
	return c
}

// retryCertificate reads the mounted certificate again.
func (s *Sidecar) retryCertificate() {
	for _, each := range s.mounts {
		if each.name == mountTLS {
			each.retry()
		}
	}
}

// outdated reports whether the certificate that is served is out of its period.
func (c *servedCertificate) outdated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaf != nil && currentCertificate(c.leaf, c.now()) != nil
}

// serve says which certificate is served from now on.
func (c *servedCertificate) serve(leaf *x509.Certificate) {
	c.mu.Lock()
	c.leaf, c.refused = leaf, nil
	c.mu.Unlock()
	c.judge()
}

// report says how a reload ended: an error leaves the former certificate.
func (c *servedCertificate) report(err error) {
	c.mu.Lock()
	c.refused = err
	c.mu.Unlock()
	c.judge()
}

// judge tells the tracker what there is now, and has follow wait anew.
func (c *servedCertificate) judge() {
	c.mu.Lock()
	leaf, refused := c.leaf, c.refused
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	until := leaf.NotAfter.UTC().Format(time.RFC3339)
	cause, text := health.CertificateProblem(leaf, c.now())
	switch {
	case cause != "" && refused != nil:
		c.health.Failf(cause, "the certificate that is served %s, and the one that is mounted cannot replace it: %v", text, refused)
	case cause != "":
		c.health.Failf(cause, "the certificate that is served %s", text)
	case refused != nil:
		c.health.Failf(causeOfMounted(refused), "%v; the former certificate, which is valid until %s, is served", refused, until)
	default:
		c.health.Succeeded()
	}
}

// follow judges the certificate when it expires, and calls retry when one that
// was mounted too early becomes valid. It ends with ctx.
func (c *servedCertificate) follow(ctx context.Context, retry func()) {
	for {
		timer := time.NewTimer(c.wait())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.changed:
			timer.Stop()
		case <-timer.C:
			if c.becameValid() {
				retry()
			} else {
				c.judge()
			}
		}
	}
}

// wait is how long nothing changes by the passing of time alone.
func (c *servedCertificate) wait() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait, now := maxCertificateWait, c.now()
	// Times have nanoseconds and dates have not: one more finds it expired.
	for _, at := range []time.Time{c.leaf.NotAfter.Add(time.Second), c.pending()} {
		if left := at.Sub(now); left > 0 {
			wait = min(wait, left)
		}
	}
	return wait
}

func (c *servedCertificate) becameValid() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending := c.pending()
	return !pending.IsZero() && !pending.After(c.now())
}

// pending is when a certificate becomes valid that was refused for its
// beginning, and else zero. It needs mu.
func (c *servedCertificate) pending() time.Time {
	if early, ok := errors.AsType[*certificateError](c.refused); ok && early.cause == sidecarconfig.CauseNotYetValid {
		return early.from
	}
	return time.Time{}
}
