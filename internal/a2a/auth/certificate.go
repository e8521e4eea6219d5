// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// CertificateConfig is what a certificate authenticator needs.
type CertificateConfig struct {
	Authorities *Authorities
	// Subject makes the certificate's subject the principal; else it is its
	// SPIFFE ID.
	Subject bool
	// Principals lists who is admitted; one that ends in /* stands for all that
	// begin so. None admits all whom the authorities vouch for.
	Principals []string
	Now        func() time.Time
}

// Authorities are the certificates of those who vouch for clients. They can be
// replaced at any time, and then count for connections that there are, too.
type Authorities struct {
	pool atomic.Pointer[x509.CertPool]
}

// Swap replaces the authorities.
func (a *Authorities) Swap(pool *x509.CertPool) { a.pool.Store(pool) }

// Certificate admits callers by the certificate of their TLS connection.
type Certificate struct {
	config CertificateConfig
	memory atomic.Pointer[certificateMemory]
}

// certificateMemory is of the certificates that certain authorities vouched for.
type certificateMemory struct {
	by    *x509.CertPool
	known *tokenCache
}

var _ Authenticator = (*Certificate)(nil)

// NewCertificate returns an authenticator.
func NewCertificate(c CertificateConfig) *Certificate { return &Certificate{config: c} }

// Challenge says what is missing. No scheme is registered for that.
func (*Certificate) Challenge() string { return `MutualTLS realm="a2a"` }

// Authenticate judges the certificate of the request's connection. A client
// may have one for other purposes, so that another credential still counts
// where this one does not.
func (c *Certificate) Authenticate(r *http.Request) (Caller, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return Caller{}, ErrNoCredential
	}
	leaf := r.TLS.PeerCertificates[0]
	pool := c.config.Authorities.pool.Load()
	if pool == nil {
		return Caller{}, passOver(a2a.ReasonUnauthenticated, "Client certificates cannot be verified: no authority is known")
	}
	now := c.config.Now()
	known := c.remembered(pool)
	if caller, ok := known.get(string(leaf.Raw), now); ok {
		return caller, nil
	}
	caller, until, err := c.verify(r.TLS.PeerCertificates, pool, now)
	if err != nil {
		return Caller{}, err
	}
	known.put(string(leaf.Raw), caller, until, now)
	return caller, nil
}

// Recognizes knows a certificate that was verified before.
func (c *Certificate) Recognizes(r *http.Request) (Credential, bool) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return CredentialNone, false
	}
	pool := c.config.Authorities.pool.Load()
	return CredentialCertificate, pool != nil && c.remembered(pool).has(string(r.TLS.PeerCertificates[0].Raw), c.config.Now())
}

func (c *Certificate) remembered(pool *x509.CertPool) *tokenCache {
	if m := c.memory.Load(); m != nil && m.by == pool {
		return m.known
	}
	m := &certificateMemory{by: pool, known: newTokenCache()}
	c.memory.Store(m)
	return m.known
}

func (c *Certificate) verify(chain []*x509.Certificate, pool *x509.CertPool, now time.Time) (Caller, time.Time, error) {
	none := time.Time{}
	intermediates := x509.NewCertPool()
	for _, each := range chain[1:] {
		intermediates.AddCert(each)
	}
	chains, err := chain[0].Verify(x509.VerifyOptions{
		Roots: pool, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Caller{}, none, passOver(a2a.ReasonUnauthenticated, "Client certificate is not accepted: "+whyRefused(err))
	}
	principal, problem := c.principal(chain[0])
	if problem != "" {
		return Caller{}, none, passOver(a2a.ReasonUnauthenticated, "Client certificate is not accepted: "+problem)
	}
	if !c.admits(principal) {
		return Caller{}, none, passOver(a2a.ReasonPermissionDenied, fmt.Sprintf("Forbidden: %q may not call this agent", principal))
	}
	owner := principal
	if c.config.Subject {
		owner = "x509:" + principal
	}
	until := none
	for _, each := range chains[0] {
		if until.IsZero() || each.NotAfter.Before(until) {
			until = each.NotAfter
		}
	}
	return Caller{Owner: a2a.Owner(owner), Unscoped: true}, until, nil
}

// whyRefused says no more than the client can know.
func whyRefused(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		switch invalid.Reason {
		case x509.Expired:
			return "it has expired, or is not valid yet"
		case x509.IncompatibleUsage:
			return "it is not one for clients"
		default:
		}
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "it is of an authority that is not known here"
	}
	return "it cannot be verified"
}

func (c *Certificate) principal(leaf *x509.Certificate) (name, problem string) {
	if !c.config.Subject {
		if name = spiffeID(leaf.URIs); name == "" {
			return "", "it has no SPIFFE ID, or more than one"
		}
		return name, ""
	}
	if name = leaf.Subject.String(); name == "" || len(name) > maxPrincipal {
		return "", "it has no subject, or one that is too long"
	}
	if !unambiguous(&leaf.Subject) {
		return "", "its subject has several common names or serial numbers, or characters that are not to be seen"
	}
	return name, ""
}

// unambiguous reports whether the text of a subject is that of no other one: it
// holds one common name and one serial number at most, the last of several. The
// mark between a principal and a tenant is among the characters that nobody sees.
func unambiguous(subject *pkix.Name) bool {
	single := map[string]int{}
	for _, attribute := range subject.Names {
		text, isText := attribute.Value.(string)
		if !isText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return false
		}
		switch id := attribute.Type.String(); id {
		case "2.5.4.3", "2.5.4.5": // commonName, serialNumber
			if single[id]++; single[id] > 1 {
				return false
			}
		}
	}
	return true
}

// admits reports whether a principal is among those that are listed.
func (c *Certificate) admits(principal string) bool {
	return len(c.config.Principals) == 0 || slices.ContainsFunc(c.config.Principals, func(listed string) bool {
		prefix, wild := strings.CutSuffix(listed, "*")
		return listed == principal || wild && strings.HasSuffix(prefix, "/") && strings.HasPrefix(principal, prefix) && !c.config.Subject
	})
}

// maxSPIFFE is that of the SPIFFE ID specification.
const maxSPIFFE = 2048

// spiffeID is the only URI of a certificate, if it is a SPIFFE ID.
func spiffeID(uris []*url.URL) string {
	if len(uris) != 1 {
		return ""
	}
	u := uris[0]
	const lower = "abcdefghijklmnopqrstuvwxyz0123456789.-_"
	const letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if u.Scheme != "spiffe" || u.Host == "" || strings.Trim(u.Host, lower) != "" || !strings.HasPrefix(u.Path, "/") {
		return ""
	}
	for segment := range strings.SplitSeq(u.Path[1:], "/") {
		if segment == "" || segment == "." || segment == ".." || strings.Trim(segment, letters) != "" {
			return ""
		}
	}
	id := "spiffe://" + u.Host + u.Path
	// Nothing else: no query, no user, no other spelling.
	if u.String() != id || len(id) > maxSPIFFE {
		return ""
	}
	return id
}
