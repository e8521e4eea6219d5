// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Limits of a card, because the operator writes the card into a ConfigMap. maxCard is in bytes, and
// maxSkills is a number of skills.
const (
	maxCard   = 512 << 10
	maxSkills = 256
)

// wellKnown are the well-known paths of a card: first the path since version 0.3 of A2A, then the path of
// earlier versions.
var wellKnown = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// cardReader reads cards with the credentials of their Agents.
type cardReader struct {
	credentials *Credentials
	guard       http.RoundTripper
	// present returns a transport with a client certificate. It connects under the same rules as guard.
	present func(*tls.Certificate) http.RoundTripper
	// certificateHosts are Options.CertificateHosts.
	certificateHosts sidecarconfig.CertificateHosts
	// parsing has one slot: only one card is parsed at a time, because parsing needs many times the
	// memory of the card's text. The namespaces take turns.
	parsing *fairslots.Slots[string]
}

// readCard reads the card of an agent. The read fails when ctx ends. The result is never nil: if readCard returns
// an error, the result contains only the Failure that the conditions of the Agent report.
func (r cardReader) readCard(ctx context.Context, a *a2av1alpha1.Agent) (*state.Remote, error) {
	result, err := r.fetchCard(ctx, a)
	if err != nil {
		return &state.Remote{Failure: problemOf(a, err)}, err
	}
	return result, nil
}

func (r cardReader) fetchCard(ctx context.Context, a *a2av1alpha1.Agent) (*state.Remote, error) {
	origin, err := url.Parse(a.Spec.Remote.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: spec.remote.url cannot be read", errInvalid)
	}
	text, err := r.authenticated(ctx, a, origin)
	if err != nil {
		return nil, err
	}
	parsed, err := r.parsing.Acquire(ctx, a.Namespace)
	if err != nil {
		return nil, fmt.Errorf("parse card: %w", err)
	}
	defer parsed()
	c, err := card.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	replaced := ""
	if a.Spec.Remote.Addresses == a2av1alpha1.RemoteAddressesRegistered {
		replaced = readdress(c, origin)
	}
	result, err := pin(c, origin, a.Spec.Remote.Query)
	if err != nil {
		return nil, err
	}
	result.ReplacedAddress = replaced
	result.CredentialsMismatch = mismatch(c.SecuritySchemes, a.Spec.Remote.Credentials, r.certificateHosts.Match(origin.Hostname()))
	return result, nil
}

// authenticated reads the card with the credentials of the Agent. If the agent refuses them, it reads the card once more with
// newer ones, if there are any.
func (r cardReader) authenticated(ctx context.Context, a *a2av1alpha1.Agent, origin *url.URL) ([]byte, error) {
	refused := ""
	for {
		credential, _, err := r.credentials.Of(ctx, a, remotecredential.User{}, refused)
		if err != nil {
			return nil, err
		}
		if refused != "" && credential.Digest() == refused {
			return nil, responseError{status: http.StatusUnauthorized, path: cmp.Or(a.Spec.Remote.CardPath, wellKnown[0])}
		}
		text, err := r.download(ctx, origin, a.Spec.Remote, credential)
		var answer responseError
		if refused == "" && !credential.IsZero() && errors.As(err, &answer) && answer.status == http.StatusUnauthorized {
			refused = credential.Digest()
			continue
		}
		if errors.As(err, &answer) && credential.IsZero() && a.Spec.Remote.Credentials != nil {
			answer.onlyExchanges = true
			err = answer
		}
		return text, err
	}
}

// pin removes the interfaces of a card that are not at the agent's own origin, adds the query of the Agent to the others, and
// encodes the card. Without the other interfaces, callers that read the card from the registry call only the host that the
// Agent names.
func pin(c *card.Card, origin *url.URL, query string) (*state.Remote, error) {
	if len(c.Skills) > maxSkills {
		return nil, fmt.Errorf("%w: it has more than %d skills", errInvalid, maxSkills)
	}
	all := len(c.Interfaces)
	c.Interfaces = slices.DeleteFunc(c.Interfaces, func(i card.Interface) bool { return !within(i, origin) })
	if len(c.Interfaces) == 0 {
		return nil, fmt.Errorf("%w: none of its %d interfaces is at %s", errInvalid, all, originOf(origin))
	}
	for i := range c.Interfaces {
		c.Interfaces[i].URL = withQuery(c.Interfaces[i].URL, query)
	}
	encoded, err := encode(c)
	if err != nil {
		return nil, err
	}
	return &state.Remote{Card: encoded, OmittedAddresses: all - len(c.Interfaces)}, nil
}

// readdress gives the interfaces of a card that are at other origins the origin of the agent. Their paths stay. It returns the first
// address that it has replaced, "" for none. It leaves an address without a scheme or with a user.
func readdress(c *card.Card, origin *url.URL) (replaced string) {
	for i := range c.Interfaces {
		at := &c.Interfaces[i]
		u, err := url.Parse(at.URL)
		if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") || within(*at, origin) {
			continue
		}
		replaced = cmp.Or(replaced, at.URL)
		u.Scheme = origin.Scheme
		u.Host = origin.Host
		at.URL = u.String()
	}
	return replaced
}

// encode returns a card in the form that the operator stores and publishes.
func encode(c *card.Card) (*state.RemoteCard, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode card: %w", err)
	}
	digest, err := card.Digest(c)
	if err != nil {
		return nil, fmt.Errorf("compute digest of card: %w", err)
	}
	encoded := &state.RemoteCard{Digest: digest, Skills: int32(len(c.Skills))} //nolint:gosec // at most maxSkills
	if len(text) > sidecarconfig.MaxSize {
		encoded.TooLarge = true
	} else {
		encoded.Text = string(text)
	}
	return encoded, nil
}

// withQuery returns a URL with a query in addition to its own.
func withQuery(address, query string) string {
	switch {
	case query == "":
		return address
	case strings.Contains(address, "?"):
		return address + "&" + query
	default:
		return address + "?" + query
	}
}

// within reports whether an interface is at an origin. The URL of a gRPC interface may be a host and a port
// without a scheme. It then has the scheme of the origin.
func within(i card.Interface, origin *url.URL) bool {
	text := i.URL
	if i.Binding == card.GRPC && !strings.Contains(text, "://") {
		text = origin.Scheme + "://" + text
	}
	u, err := url.Parse(text)
	return err == nil && u.User == nil && originOf(u) == originOf(origin)
}

// originOf returns the origin of a URL (RFC 6454). It contains the port even if it is the default
// port of the scheme.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// download reads the card at spec.remote.cardPath or, without it, at the first well-known path that serves one. If
// no well-known path serves a card, it returns the error of the first path.
func (r cardReader) download(ctx context.Context, origin *url.URL, spec *a2av1alpha1.AgentRemote, credential remotecredential.Credential) ([]byte, error) {
	guard := r.guard
	if certificate, err := credential.TLSCertificate(); err != nil {
		return nil, fmt.Errorf("%w: %w", errCredentials, err)
	} else if certificate.PrivateKey != nil {
		guard = r.present(certificate)
		defer (&http.Client{Transport: guard}).CloseIdleConnections()
	}
	places := []string{originOf(origin) + spec.CardPath}
	if spec.CardPath == "" {
		places = places[:0]
		for _, path := range wellKnown {
			places = append(places, originOf(origin)+strings.TrimSuffix(origin.EscapedPath(), "/")+path)
		}
	}
	var missing error
	for _, place := range places {
		text, err := get(ctx, guard, withQuery(place, spec.Query), credential, maxCard)
		if err == nil || !errors.Is(err, errNotServed) {
			return text, err
		}
		if missing == nil {
			missing = err
		}
	}
	return nil, missing
}

// get reads a document of at most a number of bytes.
func get(ctx context.Context, guard http.RoundTripper, place string, credential remotecredential.Credential, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, place, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: spec.remote.url and spec.remote.cardPath do not form a URL", errInvalid)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", a2av1alpha1.ManagedBy)
	// A server that has one card for each version responds with the card of the latest version.
	request.Header.Set("A2A-Version", "1.0")
	response, err := guard.RoundTrip(credential.Apply(request))
	if err != nil {
		return nil, fmt.Errorf("get document: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, responseError{status: response.StatusCode, path: request.URL.Path, location: response.Header.Get("Location")}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%w: it has more than %d KiB", errInvalid, most>>10)
	}
	return text, nil
}
