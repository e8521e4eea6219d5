// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// maxDiscovery bounds a discovery document, in bytes.
	maxDiscovery = 64 << 10
	// maxEndpoint bounds the URL of an endpoint, in bytes, as the CRD bounds the URLs in a spec.
	maxEndpoint = 2048
)

// grantDeviceCode is the grant type of the device authorization grant (RFC 8628).
const grantDeviceCode = "urn:ietf:params:oauth:grant-type:device_code"

// metadata has the members of a discovery document from which the operator derives flows (OpenID Connect Discovery 1.0, RFC 8414,
// RFC 8628).
type metadata struct {
	Issuer              string   `json:"issuer"`
	Authorization       string   `json:"authorization_endpoint"`
	Token               string   `json:"token_endpoint"`
	DeviceAuthorization string   `json:"device_authorization_endpoint"`
	Grants              []string `json:"grant_types_supported"`
}

// readDiscovery reads the discovery document of an issuer. The read fails when ctx ends. The result is never nil: if readDiscovery
// returns an error, the result contains only the Failure that the conditions of the Agent report.
func readDiscovery(ctx context.Context, guard http.RoundTripper, issuer string) (*state.Remote, error) {
	flows, err := discoverFlows(ctx, guard, issuer)
	if err != nil {
		return &state.Remote{Failure: discoveryProblem(issuer, err)}, err
	}
	return &state.Remote{Flows: flows}, nil
}

func discoverFlows(ctx context.Context, guard http.RoundTripper, issuer string) ([]card.OAuthFlow, error) {
	at, err := url.Parse(issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: the issuer is not a URL", errInvalid)
	}
	path := strings.TrimSuffix(at.EscapedPath(), "/")
	text, err := get(ctx, guard, originOf(at)+path+"/.well-known/openid-configuration", remotecredential.Credential{}, maxDiscovery)
	if errors.Is(err, errNotServed) {
		// RFC 8414 puts the path of the issuer behind the well-known one.
		var other error
		text, other = get(ctx, guard, originOf(at)+"/.well-known/oauth-authorization-server"+path, remotecredential.Credential{}, maxDiscovery)
		if other == nil || !errors.Is(other, errNotServed) {
			err = other
		}
	}
	if err != nil {
		return nil, err
	}
	var m metadata
	if json.Unmarshal(text, &m) != nil {
		return nil, fmt.Errorf("%w: it is not a JSON object of the expected form", errInvalid)
	}
	if m.Issuer != issuer {
		return nil, fmt.Errorf("%w: it is the document of the issuer %.200q", errInvalid, m.Issuer)
	}
	return m.flows(at)
}

// flows returns the flows that a card can name. Its error names the member that is wrong.
func (m *metadata) flows(issuer *url.URL) ([]card.OAuthFlow, error) {
	for _, endpoint := range []struct{ member, url string }{
		{"authorization_endpoint", m.Authorization}, {"token_endpoint", m.Token}, {"device_authorization_endpoint", m.DeviceAuthorization},
	} {
		if endpoint.url != "" && !usableEndpoint(endpoint.url, issuer) {
			return nil, fmt.Errorf("%w: its %s must be an https URL without a user and a fragment, or an http URL at the host of an http issuer", errInvalid, endpoint.member)
		}
	}
	// Without the member, RFC 8414 means the authorization code. Issuers without it may have a device endpoint.
	allows := func(grant string) bool {
		return m.Grants == nil && grant != "client_credentials" || slices.Contains(m.Grants, grant)
	}
	var flows []card.OAuthFlow
	if m.Token != "" && m.Authorization != "" && allows("authorization_code") {
		flows = append(flows, card.OAuthFlow{Type: card.FlowAuthorizationCode, AuthorizationURL: m.Authorization, TokenURL: m.Token, PKCERequired: true})
	}
	if m.Token != "" && allows("client_credentials") {
		flows = append(flows, card.OAuthFlow{Type: card.FlowClientCredentials, TokenURL: m.Token})
	}
	if m.Token != "" && m.DeviceAuthorization != "" && allows(grantDeviceCode) {
		flows = append(flows, card.OAuthFlow{Type: card.FlowDeviceCode, DeviceAuthorizationURL: m.DeviceAuthorization, TokenURL: m.Token})
	}
	if len(flows) == 0 {
		return nil, fmt.Errorf("%w: it names no token endpoint with the authorization code, client credentials or device flow", errInvalid)
	}
	return flows, nil
}

// usableEndpoint reports whether a card may name an endpoint of an issuer. A URL without TLS would send codes and client secrets in
// the clear, so it counts only for an issuer that does so itself, inside the cluster.
func usableEndpoint(endpoint string, issuer *url.URL) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || len(endpoint) > maxEndpoint ||
		strings.ContainsFunc(endpoint, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' || r == '@' }) {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && issuer.Scheme == "http" && u.Hostname() == issuer.Hostname()
}

// discoveryProblem returns the remark for the failure to read a discovery document. Like problemOf, its message is the same for each
// read with the same failure, and tells of a network failure only the kind.
func discoveryProblem(issuer string, err error) *state.Problem {
	const list = "or list the flows with their URLs"
	problem := func(format string, args ...any) *state.Problem {
		p := state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonSignInUnknown,
			"spec.access.authentication[].jwt.oauth2.flows is Discover, but "+format, args...)
		return &p
	}
	var r responseError
	var proxy *egress.ProxyError
	switch {
	case errors.Is(err, egress.ErrDenied):
		return problem("the issuer %s is not a public https address; ask the administrator of the operator to allow its range "+
			"with the chart's remote.allow (--remote-allow), %s", issuer, list)
	case errors.As(err, &r):
		return problem("the issuer %s serves no discovery document: it answers with status %d; correct jwt.issuer, %s", issuer, r.status, list)
	case errors.Is(err, errInvalid):
		return problem("the discovery document of %s is not usable: %s; correct jwt.issuer or the issuer, %s",
			issuer, strings.TrimPrefix(err.Error(), errInvalid.Error()+": "), list)
	case errors.As(err, &proxy):
		return problem("the issuer %s cannot be reached: %s; ask the administrator of the operator to correct the chart's egress.proxy (--egress-proxy-url), %s",
			issuer, proxy.Reason(), list)
	default:
		return problem("the issuer %s cannot be reached: %s; correct jwt.issuer, check the issuer, %s", issuer, networkFailure(err), list)
	}
}
