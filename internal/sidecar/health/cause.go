// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// CauseOf returns the cause of a failed connection and a text. The text is the same for
// each attempt: it contains no local port, no duration and no number of attempts. The
// cause of an unknown error is CauseConnection.
func CauseOf(err error) (sidecarconfig.HealthCause, string) {
	if proxy, ok := errors.AsType[*egress.ProxyError](err); ok {
		if _, ok := tlsFailure(err); !ok {
			return sidecarconfig.CauseProxy, proxyText(proxy)
		}
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		// Omit a text with a colon: it is about a socket, and contains the local port. The
		// texts of package net about a DNS response contain no colon.
		if name.IsTimeout || strings.Contains(name.Err, ":") {
			return sidecarconfig.CauseNameResolution, fmt.Sprintf("DNS does not answer for host %q", name.Name)
		}
		return sidecarconfig.CauseNameResolution, fmt.Sprintf("host %q: %s", name.Name, name.Err)
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		if errors.Is(err, fs.ErrNotExist) {
			return sidecarconfig.CauseMissing, path.Path + " is not mounted"
		}
		return sidecarconfig.CauseInvalid, path.Error()
	}
	if text, ok := tlsFailure(err); ok {
		return sidecarconfig.CauseTLS, text
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return sidecarconfig.CauseRefused, "connection refused"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timedOut(err):
		return sidecarconfig.CauseTimedOut, "no answer in time"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return sidecarconfig.CauseConnection, "no route to the address"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return sidecarconfig.CauseConnection, "the server closes the connection"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return sidecarconfig.CauseConnection, err.Error()
		}
		err = inner
	}
}

func proxyText(proxy *egress.ProxyError) string {
	if proxy.Status != 0 {
		return proxy.Error()
	}
	_, text := CauseOf(proxy.Err)
	return "proxy " + proxy.Proxy + ": " + text
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// tlsFailure returns a text for a failed TLS handshake, and false for other failures.
func tlsFailure(err error) (text string, ok bool) {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS", true
	}
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		err = refused.Err
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate of the server is of an authority that is not trusted", true
	}
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return name.Error(), true
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired && invalid.Cert != nil {
			return "the certificate of the server is valid from " + date(invalid.Cert.NotBefore) + " until " + date(invalid.Cert.NotAfter), true
		}
		return "the certificate of the server is not valid for a server of this name", true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return op.Err.Error(), true
	}
	return "", false
}

// date formats a date of a certificate, in UTC.
func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// CertificateProblem returns a cause and a text with the date if now is outside of the
// validity period of a certificate. Otherwise both are "".
func CertificateProblem(leaf *x509.Certificate, now time.Time) (sidecarconfig.HealthCause, string) {
	switch {
	case now.After(leaf.NotAfter):
		return sidecarconfig.CauseExpired, "expired on " + date(leaf.NotAfter)
	case now.Before(leaf.NotBefore):
		return sidecarconfig.CauseNotYetValid, "is not valid before " + date(leaf.NotBefore)
	default:
		return "", ""
	}
}
