// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// CertificateFault says why a client refuses the certificate of a server.
type CertificateFault string

// The faults. NoFault is that of an error with another cause.
const (
	NoFault          CertificateFault = ""
	NotValidNow      CertificateFault = "NotValidNow"
	WrongName        CertificateFault = "WrongName"
	UnknownAuthority CertificateFault = "UnknownAuthority"
	NotVerifiable    CertificateFault = "NotVerifiable"
)

// CertificateFaultOf returns the fault of the certificate that caused the error of a request. For NotValidNow, detail is a
// clause such as "is valid from 2026-01-01T00:00:00Z to 2026-02-01T00:00:00Z", and for WrongName the name of the server.
func CertificateFaultOf(err error) (fault CertificateFault, detail string) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		if c := invalid.Cert; c != nil {
			return NotValidNow, fmt.Sprintf("is valid from %s to %s", c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
		}
		return NotValidNow, "has expired or is not valid yet"
	}
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return WrongName, name.Host
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return UnknownAuthority, ""
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	if unverified || invalid {
		return NotVerifiable, ""
	}
	return NoFault, ""
}
