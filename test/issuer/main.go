// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command issuer is an OpenID Connect issuer for tests: the example server of zitadel/oidc, with TLS and ID tokens that
// expire soon. Its users are test-user@HOST (id1) and test-user2 (id2), with the password verysecure. Its program sid1 gets
// tokens by the client credentials grant, with the secret verysecret. People sign in to its device with the secret devicesecret. Its client may exchange tokens of users for the audience remote. A scope such as
// group:finance adds a group to the claim groups.
package main

import (
	"cmp"
	"context"
	"flag"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	issuer := flag.String("issuer", "", "The `URL` of the issuer: https, or http without a certificate.")
	listen := flag.String("listen", "", "The `address` at which it listens, by default the host and port of the issuer.")
	certificate := flag.String("cert", "", "The `file` of the certificate.")
	key := flag.String("key", "", "The `file` of the key.")
	client := flag.String("client", "", "The `id` of the client.")
	secret := flag.String("secret", "", "The `secret` of the client.")
	redirect := flag.String("redirect", "", "The redirect `URI` of the client.")
	lifetime := flag.Duration("id-token-lifetime", time.Hour, "The `lifetime` of ID tokens.")
	audience := flag.String("audience", "", "The `audience` of access tokens, which are JWTs then. Every scope is allowed.")
	flag.Parse()
	address, err := url.Parse(*issuer)
	if err != nil {
		log.Fatal(err)
	}
	storage.RegisterClients(storage.WebClient(*client, *secret, *redirect), storage.DeviceClient("device", "devicesecret"))
	users := &accounts{Storage: storage.NewStorage(storage.NewUserStore(*issuer)), lifetime: *lifetime, audience: *audience}
	server := &http.Server{
		Addr: cmp.Or(*listen, address.Host), Handler: exampleop.SetupServer(*issuer, users, slog.Default(), false), ReadHeaderTimeout: 10 * time.Second,
	}
	if address.Scheme == "http" {
		log.Fatal(server.ListenAndServe())
	}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}

// accounts are the users and clients of the example server.
type accounts struct {
	*storage.Storage
	lifetime time.Duration
	// audience is the audience of access tokens, "" for opaque ones.
	audience string
}

// GetClientByClientID implements op.Storage.
func (a *accounts) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	found, err := a.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return client{Client: found, of: a}, nil
}

// ClientCredentials implements op.ClientCredentialsStorage.
func (a *accounts) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	found, err := a.Storage.ClientCredentials(ctx, id, secret)
	if err != nil {
		return nil, err
	}
	return client{Client: found, of: a}, nil
}

// ClientCredentialsTokenRequest implements op.ClientCredentialsStorage.
func (a *accounts) ClientCredentialsTokenRequest(ctx context.Context, id string, scopes []string) (op.TokenRequest, error) {
	request, err := a.Storage.ClientCredentialsTokenRequest(ctx, id, scopes)
	if err != nil || a.audience == "" {
		return request, err
	}
	return program{TokenRequest: request, audience: a.audience}, nil
}

// AuthRequestByCode implements op.Storage.
func (a *accounts) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	request, err := a.Storage.AuthRequestByCode(ctx, code)
	if err != nil || a.audience == "" {
		return request, err
	}
	return person{AuthRequest: request, audience: a.audience}, nil
}

// GetDeviceAuthorizatonState implements op.DeviceAuthorizationStorage.
func (a *accounts) GetDeviceAuthorizatonState(ctx context.Context, clientID, code string) (*op.DeviceAuthorizationState, error) {
	state, err := a.Storage.GetDeviceAuthorizatonState(ctx, clientID, code)
	if err != nil || a.audience == "" {
		return state, err
	}
	with := *state
	with.Audience = append(slices.Clone(state.Audience), a.audience)
	return &with, nil
}

// GetPrivateClaimsFromRequest implements op.CanGetPrivateClaimsFromRequest.
func (*accounts) GetPrivateClaimsFromRequest(_ context.Context, request op.TokenRequest, _ []string) (map[string]any, error) { //nolint:unparam // the interface has the error
	groups := []string{}
	for _, scope := range request.GetScopes() {
		if group, found := strings.CutPrefix(scope, groupScope); found {
			groups = append(groups, group)
		}
	}
	return map[string]any{"scope": strings.Join(request.GetScopes(), " "), "groups": groups}, nil
}

// groupScope begins a scope with which a person is in a group.
const groupScope = "group:"

const (
	// exchangeAudience is the audience for which tokens are exchanged, and withheldScope the scope that exchanged tokens lack.
	exchangeAudience = "remote"
	withheldScope    = "withheld"
)

// ValidateTokenExchangeRequest implements op.TokenExchangeStorage.
func (*accounts) ValidateTokenExchangeRequest(_ context.Context, request op.TokenExchangeRequest) error {
	if !slices.Equal(request.GetAudience(), []string{exchangeAudience}) {
		return &oidc.Error{ErrorType: "invalid_target"}
	}
	request.SetCurrentScopes(slices.DeleteFunc(slices.Clone(request.GetScopes()), func(scope string) bool { return scope == withheldScope }))
	return nil
}

// GetPrivateClaimsFromTokenExchangeRequest implements op.TokenExchangeStorage.
func (*accounts) GetPrivateClaimsFromTokenExchangeRequest(_ context.Context, request op.TokenExchangeRequest) (map[string]any, error) { //nolint:unparam // the interface has the error
	return map[string]any{"scope": strings.Join(request.GetScopes(), " ")}, nil
}

// program is the request for a token of a program.
type program struct {
	op.TokenRequest
	audience string
}

// GetAudience implements op.TokenRequest.
func (p program) GetAudience() []string { return []string{p.audience} }

// person is the request for a token of a person.
type person struct {
	op.AuthRequest
	audience string
}

// GetAudience implements op.AuthRequest.
func (p person) GetAudience() []string { return append(p.AuthRequest.GetAudience(), p.audience) }

type client struct {
	op.Client
	of *accounts
}

// IDTokenLifetime implements op.Client.
func (c client) IDTokenLifetime() time.Duration { return c.of.lifetime }

// AccessTokenType implements op.Client.
func (c client) AccessTokenType() op.AccessTokenType {
	if c.of.audience == "" {
		return c.Client.AccessTokenType()
	}
	return op.AccessTokenTypeJWT
}

// IsScopeAllowed implements op.Client.
func (c client) IsScopeAllowed(scope string) bool {
	return c.of.audience != "" || c.Client.IsScopeAllowed(scope)
}
