// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlslimits bounds the memory that the other side of a TLS connection needs. crypto/tls keeps a message of 256 KiB while it arrives, and
// the certificates in it, which may need several MiB, until the connection ends.
package tlslimits

import "crypto/x509"

const (
	// certificateBytes is the cost of a certificate, rawCopies that of each of its bytes, and partBytes that of each of its parts.
	certificateBytes = 4 << 10
	rawCopies        = 10
	partBytes        = 320
)

// Cost returns how many bytes of the heap certificates use. TestCost measures it.
func Cost(chain []*x509.Certificate) int64 {
	bytes := int64(0)
	for _, c := range chain {
		bytes += certificateBytes + rawCopies*int64(len(c.Raw)) + partBytes*int64(parts(c))
	}
	return bytes
}

// parts returns the number of parts of a certificate that each need memory beside their bytes.
func parts(c *x509.Certificate) int {
	return len(c.URIs) + len(c.DNSNames) + len(c.EmailAddresses) + len(c.IPAddresses) + len(c.Extensions) + len(c.Subject.Names) +
		len(c.Issuer.Names) + len(c.UnknownExtKeyUsage) + len(c.ExtKeyUsage) + len(c.Policies) + len(c.PolicyMappings) + len(c.OCSPServer) +
		len(c.IssuingCertificateURL) + len(c.CRLDistributionPoints) + len(c.PermittedDNSDomains) + len(c.ExcludedDNSDomains) +
		len(c.PermittedIPRanges) + len(c.ExcludedIPRanges) + len(c.PermittedEmailAddresses) + len(c.ExcludedEmailAddresses) +
		len(c.PermittedURIDomains) + len(c.ExcludedURIDomains) + len(c.UnhandledCriticalExtensions)
}
