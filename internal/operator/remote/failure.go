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
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
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
)

// responseError is the error for a response with a status other than 200.
type responseError struct {
	status         int
	path, location string
	// onlyExchanges is true if the request had no credential, because the client of the operator may only exchange tokens of users.
	onlyExchanges bool
}

func (r responseError) Error() string {
	return fmt.Sprintf("%v at %s: status %d", errNotServed, r.path, r.status)
}

// Is makes errors.Is(err, errNotServed) true for each responseError.
func (r responseError) Is(target error) bool { return target == errNotServed }

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
		return problem(a2av1alpha1.ReasonRemoteCredentialsUnusable, "%s", Explain(a, err))
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
	case egress.RefusesCertificate(err):
		return problem(a2av1alpha1.ReasonRemoteUnreachable, "%s refuses the TLS connection: it may require a client certificate, or another one than that in "+
			"spec.remote.credentials; set or correct it, or let the server serve the card without one", at)
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
	case r.onlyExchanges && (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden):
		return fmt.Sprintf("with status %d, and the authorization server issues no token to the client itself, without a user; "+
			"allow spec.remote.credentials.oauth2.clientID the client credentials grant there, or let the agent serve its card without a credential", r.status)
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		return fmt.Sprintf("with status %d; set spec.remote.credentials, or correct them", r.status)
	default:
		return fmt.Sprintf("with status %d; set spec.remote.cardPath to the path of the card", r.status)
	}
}

// Explain returns the field, the cause and the cure for an error of Credentials.Of. The text contains no secret.
func Explain(a *a2av1alpha1.Agent, err error) string {
	return "spec.remote.credentials." + credentialFailure(a, err)
}

// credentialFailure returns the field below spec.remote.credentials that an error is about, with the cause and the cure.
func credentialFailure(a *a2av1alpha1.Agent, err error) string {
	spec := a.Spec.Remote.Credentials
	name := spec.SecretRef.Name
	if spec.OAuth2 != nil {
		if text := tokenProblem(spec.OAuth2, err); text != "" {
			return text
		}
	}
	var value *secretError
	var large tooLargeError
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("secretRef: Secret %q does not exist in namespace %q; create it", name, a.Namespace)
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("secretRef: the operator may not get Secret %q; allow its ServiceAccount to, by a Role in namespace %q", name, a.Namespace)
	case errors.As(err, &value) && errors.Is(err, errNoKey):
		if cure := map[a2av1alpha1.RemoteCredentialsType]string{
			a2av1alpha1.RemoteCredentialsBasic: "kubernetes.io/basic-auth", a2av1alpha1.RemoteCredentialsClientCertificate: "kubernetes.io/tls",
		}[spec.Type]; cure != "" {
			return fmt.Sprintf("secretRef: Secret %q has no value for the key %q; name a Secret of type %s", name, value.key, cure)
		}
		return fmt.Sprintf("secretRef: Secret %q has no value for the key %q; add it, or set secretRef.key", name, value.key)
	case errors.As(err, &value) && errors.Is(err, errNoPair):
		return fmt.Sprintf("secretRef: tls.crt and tls.key of Secret %q are not a certificate and its key as PEM; correct them", name)
	case errors.As(err, &value) && errors.Is(err, remotecredential.ErrKeyTooLong):
		return fmt.Sprintf("secretRef: the value of Secret %q for the key %q is longer than an RSA key of %d bits; use a shorter key, such as ECDSA P-256",
			name, value.key, remotecredential.MaxRSABits)
	case errors.As(err, &value) && errors.Is(err, errNotValidNow):
		return fmt.Sprintf("secretRef: the certificate in Secret %q (tls.crt) has expired, or is not valid yet; renew it", name)
	case errors.As(err, &value) && errors.As(err, &large):
		return fmt.Sprintf("secretRef: the value of Secret %q for the key %q has more than %d KiB; correct it", name, value.key, int(large)>>10)
	case errors.As(err, &value):
		return fmt.Sprintf("secretRef: the value of Secret %q for the key %q has characters that no header can carry; correct it", name, value.key)
	default:
		return fmt.Sprintf("secretRef: Secret %q cannot be read; the operator retries; if this persists, its log has the error", name)
	}
}

// tokenProblem describes the failure to get a token, "" for another failure.
func tokenProblem(spec *a2av1alpha1.RemoteOAuth2, err error) string {
	var scope *scopeError
	var refused *tokenError
	var network networkError
	switch {
	case errors.Is(err, errBusy):
		return fmt.Sprintf("oauth2.tokenURL: too many tokens of users are being exchanged (%d at a time for Agents of one namespace, %d in all); try again, "+
			"and check that the authorization server answers quickly", sameNamespace, concurrentExchanges)
	case errors.Is(err, egress.ErrDenied):
		return fmt.Sprintf("oauth2.tokenURL is %s, which is not a public https address; ask the administrator of the operator to allow its range "+
			"with the chart's remote.allow (--remote-allow)", spec.TokenURL)
	case errors.As(err, &scope):
		return fmt.Sprintf("oauth2.scopes: the authorization server issues a token without the scope %q; grant the scope to client %q there, or remove it here",
			scope.scope, spec.ClientID)
	case errors.As(err, &refused):
		return fmt.Sprintf("oauth2: %s; correct %s", refused, refused.field())
	case errors.Is(err, errTokenResponse):
		return fmt.Sprintf("oauth2.tokenURL: the answer of %s is not a token response of at most %d KiB (RFC 6749); set it to the token endpoint of the authorization server",
			spec.TokenURL, maxTokenResponse>>10)
	case errors.As(err, &network) && errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("oauth2.tokenURL: %s does not answer within %s; correct the URL, or check the authorization server", spec.TokenURL, credentialTimeout)
	case errors.As(err, &network):
		return fmt.Sprintf("oauth2.tokenURL: %s cannot be reached: %s; correct the URL, or check the authorization server", spec.TokenURL, networkFailure(err))
	default:
		return ""
	}
}

// field returns the fields that the refusal is about. An authorization server answers invalid_request if it does not accept
// the token of the user (RFC 8693, section 2.2.2), and unsupported_grant_type if it exchanges no tokens.
func (e *tokenError) field() string {
	switch {
	case e.ofUser && e.code == "unauthorized_client":
		return "clientID, or allow this client to exchange tokens there (RFC 8693)"
	case e.code == "unauthorized_client":
		return "clientID, or allow this client the client credentials grant there"
	case e.code == "invalid_client", e.code == "" && e.status == http.StatusUnauthorized:
		return "clientID, or the client secret in the Secret of secretRef"
	case e.code == "invalid_scope":
		return "scopes"
	case e.ofUser && slices.Contains([]string{"invalid_grant", "invalid_request", "unsupported_grant_type"}, e.code):
		return "the token of the user, which the authorization server must accept, or grant"
	case e.code == "invalid_target":
		return "audience"
	default:
		return "tokenURL, or check the authorization server"
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
