// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uiserver serves the pages of internal/web/ui in every replica of the manager, to people whom a proxy in front of
// it has signed in at an OpenID Connect issuer. The proxy passes the token of the person on as a bearer token, and the
// server verifies the token of each request as the registry does. It stores no session and trusts no other header. A person
// sees the agents that the registry shows to this person. The pages call no agent, except to show and to send decisions about the
// calls of tools for which a task waits.
//
//	options   what the manager configures
//	decisions the page on which people decide
//	readers   the registry as one person sees it
//	turns     what bounds the cost of pages
//	server    the listener, and the person of a request
package uiserver

import (
	"context"
	"net/url"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// Options configure a Server. All fields except CertificateDir, SignOut, TrustedProxies and Connect are required.
type Options struct {
	// BindAddress is the address of the listener.
	BindAddress string
	// Memory is how many bytes the connections may use.
	Memory int64
	// TrustedProxies are the proxies whose headers name the clients to which limits by address apply.
	TrustedProxies sourceaddress.Proxies
	// URL is the https URL at which people open the pages, without a path.
	URL *url.URL
	// SignOut is the path at which the proxy ends a session, without the leading slash; "" for none.
	SignOut string
	// CertificateDir is a directory with tls.crt and tls.key. If it is "", the server uses plain HTTP, and a proxy in
	// front of it must serve TLS.
	CertificateDir string
	// OIDC is the issuer whose tokens the server accepts.
	OIDC     access.OIDCOptions
	Registry Registry
	// Agents reads Agents from the manager's cache.
	Agents crclient.Reader
	// Connect returns a client with which a person reads one task of an agent, and decides about its calls, or ErrNoAgent. Without
	// Connect, people cannot decide on the page.
	Connect func(context.Context, *AsPerson) (*client.Client, error)
	Clock   clock.PassiveClock
	Log     logr.Logger
}
