// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// normalTimeout and slowTimeout limit one read of a card, over all its well-known paths: normalTimeout in the
// normal pool, and slowTimeout in the pool of slow agents.
const (
	normalTimeout = 2 * time.Second
	slowTimeout   = 10 * time.Second
)

var (
	// errInvalid is wrapped by the errors about a URL or a card that the operator cannot use.
	errInvalid = errors.New("card is not usable")
	// errNotServed is the target of errors.Is for each responseError: the server responded, but
	// without a card.
	errNotServed = errors.New("card is not served")
	// errCredentials is wrapped by errors about a Secret that cannot be used.
	errCredentials = errors.New("credentials are not usable")
	// errNoKey is the error for a Secret that lacks the key that the Agent names, or whose value is empty.
	errNoKey = errors.New("no such key in the Secret")
	// errNoHeader is the error for a value that an HTTP header cannot contain.
	errNoHeader = errors.New("value has characters that a header cannot carry")
)

// responseError is the error for a response with a status other than 200.
type responseError struct {
	status         int
	path, location string
}

func (r responseError) Error() string {
	return fmt.Sprintf("%v at %s: status %d", errNotServed, r.path, r.status)
}

// Is makes errors.Is(err, errNotServed) true for each responseError.
func (r responseError) Is(target error) bool { return target == errNotServed }

// header returns the HTTP header for a value of a Secret. It removes white space around the value, because a
// stored token often ends with a line break.
func header(c *a2av1alpha1.RemoteCredentials, data []byte) (name, value string, err error) {
	value = strings.TrimSpace(string(data))
	if value == "" {
		return "", "", errNoKey
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", "", errNoHeader
	}
	if strings.EqualFold(c.Header, "Authorization") || c.Header == "" {
		return "Authorization", "Bearer " + value, nil
	}
	return c.Header, value, nil
}

// problemOf returns the problem that the conditions of an Agent report for an error. The message is the same for
// each read with the same failure. For a network failure, the message contains only the kind of failure, because
// the operator may reach addresses that the author of the Agent may not reach.
func problemOf(a *a2av1alpha1.Agent, err error) *state.Problem {
	problem := func(reason, format string, args ...any) *state.Problem {
		return &state.Problem{Condition: a2av1alpha1.ConditionAvailable, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	at := a.Spec.Remote.URL
	var unknown x509.UnknownAuthorityError
	var r responseError
	var proxy *egress.ProxyError
	switch {
	case errors.Is(err, errCredentials):
		return problem(a2av1alpha1.ReasonRemoteCredentialsUnusable, "spec.remote.credentials.secretRef: %s", credentialFailure(a, err))
	case errors.Is(err, egress.ErrDenied):
		return problem(a2av1alpha1.ReasonRemoteForbidden, "spec.remote.url is %s, which is not a public https address; "+
			"ask the administrator of the operator to allow its range with the chart's remote.allow (--remote-allow), "+
			"which cannot allow loopback and link-local addresses", at)
	case errors.As(err, &r):
		return problem(a2av1alpha1.ReasonRemoteCardNotServed, "%s serves no card at %s: it answers %s", at, r.path, r.explain())
	case errors.Is(err, errInvalid):
		return problem(a2av1alpha1.ReasonRemoteCardInvalid, "The card of %s is not valid: %s; correct it, "+
			"or set spec.remote.url and spec.remote.cardPath to a valid card", at, strings.TrimPrefix(err.Error(), errInvalid.Error()+": "))
	case errors.As(err, &unknown):
		return problem(a2av1alpha1.ReasonRemoteUnreachable, "The certificate of %s is not trusted: the operator does not know its authority; "+
			"ask its administrator to add a private authority with the chart's remote.ca (--remote-ca-file)", at)
	case errors.As(err, &proxy):
		return problem(a2av1alpha1.ReasonRemoteUnreachable, "%s cannot be reached: %s; "+
			"ask the administrator of the operator to correct the chart's egress.proxy (--egress-proxy-url)", at, proxy.Reason())
	default:
		return problem(a2av1alpha1.ReasonRemoteUnreachable, "%s cannot be reached: %s; correct spec.remote.url, or check the agent", at, networkFailure(err))
	}
}

// explain says what is wrong with the response, and what the user can do about it.
func (r responseError) explain() string {
	switch {
	case r.location != "":
		target, err := url.Parse(r.location)
		if err != nil || target.Host == "" {
			return "with a redirect, which is not followed; set spec.remote.cardPath to its target"
		}
		return "with a redirect to " + safetext.Line(target.Host) + ", which is not followed; set spec.remote.url to its target"
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		return fmt.Sprintf("with status %d; set spec.remote.credentials, or correct them", r.status)
	default:
		return fmt.Sprintf("with status %d; set spec.remote.cardPath to the path of the card", r.status)
	}
}

func credentialFailure(a *a2av1alpha1.Agent, err error) string {
	ref := a.Spec.Remote.Credentials.SecretRef
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("Secret %q does not exist in namespace %q; create it", ref.Name, a.Namespace)
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("the operator may not get Secret %q; allow its ServiceAccount to, by a Role in namespace %q", ref.Name, a.Namespace)
	case errors.Is(err, errNoKey):
		return fmt.Sprintf("Secret %q has no value for the key %q; add it, or set secretRef.key", ref.Name, ref.Key)
	case errors.Is(err, errNoHeader):
		return fmt.Sprintf("the value of Secret %q for the key %q has characters that no header can carry; correct it", ref.Name, ref.Key)
	default:
		return fmt.Sprintf("Secret %q cannot be read; the operator retries; if this persists, its log has the error", ref.Name)
	}
}

// networkFailure returns the kind of a network failure.
func networkFailure(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "its host name does not exist"
	case errors.As(err, &dns):
		return "its host name could not be resolved"
	case errors.As(err, &certificate):
		return "its certificate is not trusted, or is for another host"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return fmt.Sprintf("there was no answer within %s", slowTimeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	default:
		return "the connection failed"
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
