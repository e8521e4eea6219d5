// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// CertificateConfig configures a certificate authenticator.
type CertificateConfig struct {
	Authorities *Authorities
	// Subject selects the subject of the certificate as the principal. If it is false, the
	// SPIFFE ID of the certificate is the principal.
	Subject bool
	// TrustDomain is the trust domain of the first authorities. A SPIFFE ID of another trust domain is
	// verified by the authorities of that domain, and refused if there are none. It is required without Subject.
	TrustDomain string
	// Principals lists the accepted principals. A SPIFFE ID with /* at its end matches all
	// IDs that begin with the text before the *. If the list is empty, every certificate of
	// the authorities is accepted.
	Principals []string
	Now        func() time.Time
}

// Authorities holds the certificate authorities of clients. It is safe for concurrent
// use. New authorities also apply to open connections.
type Authorities struct {
	mu      sync.Mutex
	current atomic.Pointer[authorities]
}

// authorities are immutable.
type authorities struct {
	// own are those of CertificateConfig.TrustDomain, or of Subject. federated are those of other trust domains.
	own       *x509.CertPool
	federated map[string]*x509.CertPool
}

// Swap replaces the authorities of CertificateConfig.TrustDomain.
func (a *Authorities) Swap(pool *x509.CertPool) {
	a.change(func(next *authorities) { next.own = pool })
}

// SwapFederated replaces the authorities of another trust domain.
func (a *Authorities) SwapFederated(trustDomain string, pool *x509.CertPool) {
	a.change(func(next *authorities) { next.federated[trustDomain] = pool })
}

func (a *Authorities) change(apply func(*authorities)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := &authorities{federated: map[string]*x509.CertPool{}}
	if last := a.current.Load(); last != nil {
		next.own = last.own
		maps.Copy(next.federated, last.federated)
	}
	apply(next)
	a.current.Store(next)
}

// Certificate authenticates callers by the client certificate of their TLS connection.
type Certificate struct {
	config CertificateConfig
	cache  keyedCache[authorities]
}

// NewCertificate returns an authenticator.
func NewCertificate(c CertificateConfig) *Certificate { return &Certificate{config: c} }

// Challenge returns a challenge that names mutual TLS. There is no registered scheme for
// it.
func (*Certificate) Challenge() string { return `MutualTLS realm="a2a"` }

// Authenticate verifies the certificate of the connection. If it rejects the certificate, a
// later authenticator may still accept the request, because a client may have the
// certificate for another purpose and send another credential.
func (c *Certificate) Authenticate(r *http.Request) (Caller, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return Caller{}, ErrNoCredential
	}
	leaf := r.TLS.PeerCertificates[0]
	trusted := c.config.Authorities.current.Load()
	if trusted == nil || trusted.own == nil {
		return Caller{}, overridable(a2a.ReasonUnauthenticated, "Client certificates cannot be verified: no certificate authority is configured")
	}
	now := c.config.Now()
	verified := c.cache.of(trusted)
	if caller, ok := verified.get(string(leaf.Raw), now); ok {
		return caller, nil
	}
	caller, until, err := c.verify(r.TLS.PeerCertificates, trusted, now)
	if err != nil {
		return Caller{}, err
	}
	verified.put(string(leaf.Raw), caller, until, now)
	return caller, nil
}

// VerifiedBefore looks up the certificate in the cache of verified certificates.
func (c *Certificate) VerifiedBefore(r *http.Request) (Credential, bool) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return CredentialNone, false
	}
	trusted := c.config.Authorities.current.Load()
	return CredentialCertificate, trusted != nil && c.cache.of(trusted).has(string(r.TLS.PeerCertificates[0].Raw), c.config.Now())
}

// Limits of the certificates that a client sends. Verify tries each certificate that may have signed another one, and a client may send
// certificates that all have signed each other, with keys that are slow to verify.
const (
	maxChain         = 8
	maxOfSubject     = 2 // an authority whose certificate two others have signed
	maxIssuerRSABits = 4096
	maxRSAExponent   = 1<<16 + 1
)

// refusalOf returns why it would take too long to verify a chain, "" if it does not.
func refusalOf(chain []*x509.Certificate) string {
	if len(chain) > maxChain {
		return fmt.Sprintf("it comes with more than %d certificates", maxChain)
	}
	subjects := map[string]int{}
	for _, each := range chain[1:] {
		subjects[string(each.RawSubject)]++
		if subjects[string(each.RawSubject)] > maxOfSubject {
			return fmt.Sprintf("more than %d of its authorities have the same subject", maxOfSubject)
		}
		if key, ok := each.PublicKey.(*rsa.PublicKey); ok && (key.N.BitLen() > maxIssuerRSABits || key.E > maxRSAExponent) {
			return fmt.Sprintf("an authority has an RSA key of more than %d bits, or with a larger exponent than %d", maxIssuerRSABits, maxRSAExponent)
		}
	}
	return ""
}

func (c *Certificate) verify(chain []*x509.Certificate, trusted *authorities, now time.Time) (Caller, time.Time, error) {
	none := time.Time{}
	if problem := refusalOf(chain); problem != "" {
		return Caller{}, none, overridable(a2a.ReasonUnauthenticated, "Client certificate is not accepted: "+problem)
	}
	pool := trusted.own
	isFederated := false
	if domain := trustDomainOf(chain[0]); !c.config.Subject && domain != c.config.TrustDomain && trusted.federated[domain] != nil {
		pool = trusted.federated[domain]
		isFederated = true
	}
	intermediates := x509.NewCertPool()
	for _, each := range chain[1:] {
		intermediates.AddCert(each)
	}
	chains, err := chain[0].Verify(x509.VerifyOptions{
		Roots: pool, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Caller{}, none, overridable(a2a.ReasonUnauthenticated, "Client certificate is not accepted: "+rejectionReason(err))
	}
	principal, problem := c.principal(chain[0], isFederated)
	if problem != "" {
		return Caller{}, none, overridable(a2a.ReasonUnauthenticated, "Client certificate is not accepted: "+problem)
	}
	if !c.accepts(principal) {
		return Caller{}, none, overridable(a2a.ReasonPermissionDenied, fmt.Sprintf("Forbidden: %q may not call this agent", principal))
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

// rejectionReason returns why a certificate is rejected, without details of the
// authorities.
func rejectionReason(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		switch invalid.Reason {
		case x509.Expired:
			return "it has expired, or is not valid yet"
		case x509.IncompatibleUsage:
			return "it is not a client certificate"
		default:
		}
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its authority is not trusted here"
	}
	return "it cannot be verified"
}

// trustDomainOf returns the trust domain of the SPIFFE ID of a certificate, "" for none.
func trustDomainOf(leaf *x509.Certificate) string {
	if spiffeID(leaf.URIs) == "" {
		return ""
	}
	return leaf.URIs[0].Host
}

// principal returns the principal of a verified certificate. With isFederated, the authorities of its trust domain have verified it.
func (c *Certificate) principal(leaf *x509.Certificate, isFederated bool) (name, problem string) {
	if !c.config.Subject {
		name = spiffeID(leaf.URIs)
		if name == "" {
			return "", "it has no SPIFFE ID, or more than one"
		}
		if leaf.URIs[0].Host != c.config.TrustDomain && !isFederated {
			return "", "its authority is not that of the trust domain of its SPIFFE ID"
		}
		return name, ""
	}
	name = leaf.Subject.String()
	if name == "" || len(name) > maxPrincipal {
		return "", "it has no subject, or one that is too long"
	}
	if !unambiguous(&leaf.Subject) {
		return "", "its subject has several common names or serial numbers, or invisible characters"
	}
	return name, ""
}

// unambiguous reports whether no other subject has the same text. The text, which
// pkix.Name.String returns, contains only the last one of several common names or serial
// numbers. unambiguous also refuses invisible characters, because the separator between a
// principal and a tenant is one of them.
func unambiguous(subject *pkix.Name) bool {
	single := map[string]int{}
	for _, attribute := range subject.Names {
		text, isText := attribute.Value.(string)
		if !isText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return false
		}
		switch id := attribute.Type.String(); id {
		case "2.5.4.3", "2.5.4.5": // commonName, serialNumber
			single[id]++
			if single[id] > 1 {
				return false
			}
		}
	}
	return true
}

// accepts reports whether CertificateConfig.Principals contains a principal or is empty.
func (c *Certificate) accepts(principal string) bool {
	return len(c.config.Principals) == 0 || slices.ContainsFunc(c.config.Principals, func(listed string) bool {
		prefix, wild := strings.CutSuffix(listed, "*")
		return listed == principal || wild && strings.HasSuffix(prefix, "/") && strings.HasPrefix(principal, prefix) && !c.config.Subject
	})
}

// maxSPIFFE is the largest length of a SPIFFE ID, in bytes (SPIFFE ID specification, section 2.3).
const maxSPIFFE = 2048

// spiffeID returns the SPIFFE ID of a certificate with exactly one URI, or "".
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
	// A query, a user or another spelling is not part of a SPIFFE ID.
	if u.String() != id || len(id) > maxSPIFFE {
		return ""
	}
	return id
}
