// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uiserver serves the pages of internal/web/ui in every replica of the manager, to people who sign in at
// an OpenID Connect issuer. A person sees the agents that the registry shows to this person. The pages call no
// agent: the manager has no token of a person that an agent would accept, and does not impersonate people.
//
// A session is an encrypted cookie. Every replica accepts the cookie, and no replica stores sessions.
//
//	options   what the manager configures
//	session   the cookie of a person, and the encryption of cookies
//	provider  the endpoints of the issuer
//	signin    the authorization code flow with PKCE, the end of a session, and the metrics of both
//	readers   the registry as one person sees it
//	server    the listener
package uiserver

import (
	"net/url"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// Options configure a Server. All fields except CertificateDir are required.
type Options struct {
	// BindAddress is the address of the listener.
	BindAddress string
	// Memory is how many bytes the connections may use.
	Memory int64
	// TrustedProxies are the proxies whose headers name the clients to which limits by address apply.
	TrustedProxies sourceaddress.Proxies
	// URL is the https URL at which people open the pages, without a path.
	URL *url.URL
	// CertificateDir is a directory with tls.crt and tls.key. If it is "", the server uses plain HTTP, and a
	// Gateway in front of it must serve TLS.
	CertificateDir string
	// OIDC is the issuer at which people sign in. OIDC.Audience is also the client id of this
	// server at the issuer.
	OIDC access.OIDCOptions
	// Scopes are the scopes that the sign-in requests. They must include openid.
	Scopes []string
	// SecretDir is the directory of a mounted Secret with the key of cookies and the client secret.
	SecretDir string
	Registry  Registry
	// Agents reads Agents from the manager's cache.
	Agents client.Reader
	Clock  clock.PassiveClock
	Log    logr.Logger
}
