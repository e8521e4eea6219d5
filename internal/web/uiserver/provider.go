// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

const (
	// discoveryPath is the path of the discovery document below the issuer (OpenID Connect
	// Discovery 1.0, section 4).
	discoveryPath = "/.well-known/openid-configuration"
	// discoveryLifetime is the time until the endpoints of the issuer are read again after a
	// successful read, and discoveryPause the time after a failed one.
	discoveryLifetime, discoveryPause = time.Hour, 5 * time.Second
	// maxDiscovery bounds the discovery document, in bytes.
	maxDiscovery = 64 << 10
	// issuerTimeout bounds a request to the issuer.
	issuerTimeout = 10 * time.Second
)

// errNoSignIn is the error for a callback without a valid sign-in cookie, and for an
// authorization code that the issuer does not accept.
var errNoSignIn = errors.New("no sign-in began in this browser, or it took more than 10 minutes")

// provider reads the endpoints of the issuer, and exchanges authorization codes for ID tokens.
// It is safe for concurrent use.
type provider struct {
	issuer    string
	directory string
	config    oauth2.Config
	client    *http.Client
	now       func() time.Time
	log       logr.Logger
	flights   singleflight.Group

	mu   sync.Mutex
	last discovery
}

// discovery has the known endpoints of the issuer, and the outcome of the last request for them.
type discovery struct {
	// endpoint contains the URLs from the last successful request. It is the zero value before
	// the first success.
	endpoint oauth2.Endpoint
	// err is the error of the last request.
	err error
	// next is the time at which the next request is due.
	next time.Time
}

func (d *discovery) found() bool { return d.endpoint != oauth2.Endpoint{} }

// usable returns the endpoints or, if there are none, the error of the last request.
func (d *discovery) usable() (oauth2.Endpoint, error) {
	if d.found() {
		return d.endpoint, nil
	}
	return oauth2.Endpoint{}, d.err
}

func newProvider(o *Options, redirect string) *provider {
	return &provider{
		issuer: o.OIDC.Issuer, directory: o.SecretDir, now: o.Clock.Now, log: o.Log,
		config: oauth2.Config{ClientID: o.OIDC.Audience, RedirectURL: redirect, Scopes: o.Scopes},
		client: &http.Client{
			Transport: o.OIDC.Transport, Timeout: issuerTimeout,
			// The client follows no redirects, so that it sends the code and the client secret
			// only to the configured address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// oauth returns the configuration of the authorization code flow, with the present endpoints and
// the present client secret.
func (p *provider) oauth(ctx context.Context) (*oauth2.Config, error) {
	secret, err := os.ReadFile(filepath.Join(p.directory, clientSecretFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the client secret: %w", err)
	}
	config := p.config
	config.ClientSecret = strings.TrimSpace(string(secret))
	if config.Endpoint, err = p.endpoint(ctx); err != nil {
		return nil, err
	}
	return &config, nil
}

// endpoint returns the endpoints of the issuer. If they are known, it returns them immediately,
// and renews them in the background when the next read is due. If they are unknown, it waits for
// a read, at most issuerTimeout. Concurrent calls share one read (singleflight).
func (p *provider) endpoint(ctx context.Context) (oauth2.Endpoint, error) {
	last := p.known()
	if p.now().Before(last.next) {
		return last.usable()
	}
	// The read must continue for the other callers when the context of the first caller ends.
	result := p.flights.DoChan("", func() (any, error) {
		p.renew(context.WithoutCancel(ctx))
		return nil, nil // the result is in p.last
	})
	if last.found() {
		return last.endpoint, nil
	}
	select {
	case <-ctx.Done():
		return oauth2.Endpoint{}, ctx.Err()
	case <-result:
		last = p.known()
		return last.usable()
	}
}

func (p *provider) known() discovery {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// renew reads the endpoints of the issuer if a read is due. If the read fails, the known
// endpoints stay in use.
func (p *provider) renew(ctx context.Context) {
	last := p.known()
	if p.now().Before(last.next) {
		return // another call has renewed them in the meantime
	}
	endpoint, err := p.discover(ctx)
	next := discovery{endpoint: endpoint, next: p.now().Add(discoveryLifetime)}
	if err != nil {
		next = discovery{endpoint: last.endpoint, err: err, next: p.now().Add(discoveryPause)}
		if last.found() { // if no endpoints are known, the sign-in fails and logs the error
			p.log.Error(err, "reading the endpoints of the issuer failed; the last ones stay in use")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = next
}

// discover reads the endpoints of the issuer.
func (p *provider) discover(ctx context.Context) (oauth2.Endpoint, error) {
	address := strings.TrimSuffix(p.issuer, "/") + discoveryPath
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return oauth2.Endpoint{}, fmt.Errorf("make request: %w", err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return oauth2.Endpoint{}, fmt.Errorf("read the endpoints of the issuer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return oauth2.Endpoint{}, fmt.Errorf("read the endpoints of the issuer: GET %s: status %d", address, response.StatusCode)
	}
	var document struct {
		Issuer        string `json:"issuer"`
		Authorization string `json:"authorization_endpoint"`
		Token         string `json:"token_endpoint"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxDiscovery)).Decode(&document); err != nil {
		return oauth2.Endpoint{}, fmt.Errorf("read the endpoints of the issuer: GET %s: %w", address, err)
	}
	if document.Issuer != p.issuer {
		return oauth2.Endpoint{}, fmt.Errorf("read the endpoints of the issuer: GET %s: the document is of issuer %.200q", address, document.Issuer)
	}
	for _, endpoint := range []string{document.Authorization, document.Token} {
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "https" {
			return oauth2.Endpoint{}, fmt.Errorf("read the endpoints of the issuer: GET %s: %.200q is not an https URL", address, endpoint)
		}
	}
	return oauth2.Endpoint{AuthURL: document.Authorization, TokenURL: document.Token}, nil
}

// exchange returns the ID token for an authorization code.
func (p *provider) exchange(ctx context.Context, code, verifier string) (string, error) {
	config, err := p.oauth(ctx)
	if err != nil {
		return "", err
	}
	token, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, p.client), code, oauth2.VerifierOption(verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.ErrorCode == "invalid_grant" {
		return "", errNoSignIn // the code was used before, has expired, or belongs to another sign-in
	}
	if err != nil {
		return "", fmt.Errorf("exchange the code: %w", err)
	}
	text, _ := token.Extra("id_token").(string)
	if text == "" {
		return "", errors.New("exchange the code: the issuer sent no ID token; the scopes must have openid")
	}
	return text, nil
}
