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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

var (
	// errInvalid is a card that cannot be listed.
	errInvalid = errors.New("card is not usable")
	// errNotServed is an answer without a card.
	errNotServed = errors.New("card is not served")
	// errCredentials is a Secret that cannot be used.
	errCredentials = errors.New("credentials are not usable")
	// errNoKey is a Secret that lacks what is asked for.
	errNoKey = errors.New("no such key in the Secret")
	// errNoHeader is a value that no header can carry.
	errNoHeader = errors.New("value has characters that a header cannot carry")
)

// refusal is an answer that is no card.
type refusal struct {
	status         int
	path, location string
}

func (r refusal) Error() string {
	return fmt.Sprintf("%v at %s: status %d", errNotServed, r.path, r.status)
}

// Is makes a refusal one of errNotServed.
func (r refusal) Is(target error) bool { return target == errNotServed }

// header returns the header for a value of a Secret. A token often ends in a
// line break that nobody meant.
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

// failureOf is what the author of an Agent is told. It holds nothing that
// changes by itself, and of the network no more than what kind of failure it
// was: the operator may reach what the author may not.
func failureOf(a *a2av1alpha1.Agent, err error) *usererror.Problem {
	told := func(reason, format string, args ...any) *usererror.Problem {
		return &usererror.Problem{Condition: a2av1alpha1.ConditionAvailable, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	at := a.Spec.Remote.URL
	var unknown x509.UnknownAuthorityError
	var r refusal
	switch {
	case errors.Is(err, errCredentials):
		return told(a2av1alpha1.ReasonRemoteCredentialsUnusable, "spec.remote.credentials.secretRef: %s", credentialFault(a, err))
	case errors.Is(err, egress.ErrDenied):
		return told(a2av1alpha1.ReasonRemoteForbidden, "spec.remote.url: the operator connects to public addresses over https only, "+
			"and %s is none; whoever installed it can allow more with the chart's remote.allow (--remote-allow), but for loopback and link-local addresses", at)
	case errors.As(err, &r):
		return told(a2av1alpha1.ReasonRemoteCardNotServed, "%s serves no card at %s: it answers %s", at, r.path, r.told())
	case errors.Is(err, errInvalid):
		return told(a2av1alpha1.ReasonRemoteCardInvalid, "The card of %s cannot be listed; correct it there, "+
			"or set spec.remote.url and spec.remote.cardPath to where one is: %s", at, strings.TrimPrefix(err.Error(), errInvalid.Error()+": "))
	case errors.As(err, &unknown):
		return told(a2av1alpha1.ReasonRemoteUnreachable, "The certificate of %s is not trusted: the operator does not know its authority; "+
			"whoever installed it can name a private one with the chart's remote.ca (--remote-ca-file)", at)
	default:
		return told(a2av1alpha1.ReasonRemoteUnreachable, "Nobody answers at %s: %s; correct spec.remote.url, or look into the agent", at, network(err))
	}
}

// told is what is wrong with an answer, and the cure.
func (r refusal) told() string {
	switch {
	case r.location != "":
		target, err := url.Parse(r.location)
		if err != nil || target.Host == "" {
			return "with a redirect, which is not followed; set spec.remote.cardPath to where it leads"
		}
		return "with a redirect to " + target.Host + ", which is not followed; set spec.remote.url to where it leads"
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		return fmt.Sprintf("%d; set spec.remote.credentials, or correct them", r.status)
	default:
		return fmt.Sprintf("%d; set spec.remote.cardPath to where the card is", r.status)
	}
}

func credentialFault(a *a2av1alpha1.Agent, err error) string {
	ref := a.Spec.Remote.Credentials.SecretRef
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no Secret %q in namespace %q; create it", ref.Name, a.Namespace)
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("the operator may not get Secret %q; allow its ServiceAccount to, by a Role in namespace %q", ref.Name, a.Namespace)
	case errors.Is(err, errNoKey):
		return fmt.Sprintf("Secret %q has nothing under the key %q; add it, or set secretRef.key", ref.Name, ref.Key)
	case errors.Is(err, errNoHeader):
		return fmt.Sprintf("the value of Secret %q under %q has characters that no header can carry; correct it", ref.Name, ref.Key)
	default:
		return fmt.Sprintf("Secret %q cannot be read for now; the operator tries again; if this stays, ask who installed it, whose log has the error", ref.Name)
	}
}

// network says what kind of failure it was.
func network(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "its name does not exist"
	case errors.As(err, &dns):
		return "its name could not be resolved"
	case errors.As(err, &certificate):
		return "its certificate is not trusted, or is another's"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return fmt.Sprintf("there was no answer within %s", readTimeout)
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
