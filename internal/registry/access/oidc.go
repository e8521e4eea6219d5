// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

const (
	// systemPrefix is the prefix of the users and groups that Kubernetes reserves.
	systemPrefix = "system:"
	// groupAuthenticated is the group of every caller that Kubernetes authenticates.
	groupAuthenticated = "system:authenticated"
	// emailClaim is a claim that names no user if the issuer marks it as not verified.
	emailClaim = "email"
)

// keyFetches counts the attempts to fetch the keys of the issuer.
var keyFetches = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_issuer_key_fetches_total",
	Help: "Fetches of the keys of the registry's OpenID Connect issuer, by result: fetched or failed.",
}, []string{"result"})

// ErrNoIssuerKeys is returned for a token of the OpenID Connect issuer while the keys of the issuer
// are unknown. The log has the reason.
var ErrNoIssuerKeys = errors.New("the keys of the OpenID Connect issuer are unknown")

// OIDCOptions configure an issuer of tokens for people (OpenID Connect Core 1.0). The options of
// claims have the meaning of the --oidc-* flags of kube-apiserver. The prefixes are prepended
// without a separator.
type OIDCOptions struct {
	// Issuer is the URL of the issuer, as in the claim iss.
	Issuer string
	// Audience is a value that the claim aud of a token must contain.
	Audience string
	// UsernameClaim names the claim with the user name.
	UsernameClaim string
	// UsernamePrefix is prepended to the user name.
	UsernamePrefix string
	// GroupsClaim names the claim with the groups, "" for none.
	GroupsClaim string
	// GroupsPrefix is prepended to each group.
	GroupsPrefix string
	// Transport reaches the issuer.
	Transport http.RoundTripper
	Log       logr.Logger
	Now       func() time.Time
}

// OIDC authenticates people by tokens of one issuer. Its methods are safe for
// concurrent use.
type OIDC struct {
	options OIDCOptions
	keys    *auth.IssuerKeys
	tokens  *auth.JWT
}

// NewOIDC returns an OIDC, which accepts no token before Run has fetched the keys.
func NewOIDC(o OIDCOptions) *OIDC {
	keys := auth.NewIssuerKeys(auth.IssuerKeysConfig{
		Source:    auth.KeySource{Issuer: o.Issuer},
		Transport: o.Transport,
		Observe: func(err error) {
			result := "fetched"
			if err != nil {
				result = "failed"
			}
			keyFetches.WithLabelValues(result).Inc()
		},
		Log: slog.New(logr.ToSlogHandler(o.Log)),
		Now: o.Now,
	})
	return &OIDC{options: o, keys: keys, tokens: auth.NewJWT(auth.JWTConfig{
		Issuer: o.Issuer, Audiences: []string{o.Audience}, PrincipalClaim: o.UsernameClaim,
		KeepClaims: true, Keys: keys, Now: o.Now,
	})}
}

// Run fetches the keys of the issuer until ctx ends: every five minutes, and after a token that names an unknown key at
// once, but not within ten seconds of the last such fetch.
func (o *OIDC) Run(ctx context.Context) { o.keys.Run(ctx) }

// issued reports whether the payload of a token names the issuer. It does not verify the token.
func (o *OIDC) issued(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	return json.Unmarshal(payload, &claims) == nil && claims.Issuer == o.options.Issuer
}

// Person is the owner of a token.
type Person struct {
	Caller Caller
	// Expires is the time at which the token expires.
	Expires time.Time
	// Claims are all claims of the token. They are immutable.
	Claims authz.Claims
}

// person returns the person that the token of a request authenticates, and false if the token is not valid. It returns
// ErrNoIssuerKeys while the keys are unknown.
func (o *OIDC) person(r *http.Request) (Person, bool, error) {
	if !o.keys.Known() {
		return Person{}, false, ErrNoIssuerKeys
	}
	verified, err := o.tokens.Authenticate(r)
	if valid := err == nil && verified.Claims != nil; !valid { // an invalid token is no failure of the system
		return Person{}, false, nil
	}
	user, valid := o.userOf(*verified.Claims)
	expires, known := (*verified.Claims)["exp"].(float64)
	if !valid || !known {
		return Person{}, false, nil
	}
	caller, err := NewCaller(user)
	return Person{Caller: caller, Expires: time.Unix(int64(expires), 0), Claims: *verified.Claims}, err == nil, err
}

// userOf returns the user that verified claims name. It returns false if they name no user, or a
// user name that Kubernetes reserves. It omits groups that Kubernetes reserves.
func (o *OIDC) userOf(claims authz.Claims) (authenticationv1.UserInfo, bool) {
	name, _ := claims[o.options.UsernameClaim].(string)
	if o.options.UsernameClaim == emailClaim {
		if verified, present := claims["email_verified"]; present && verified != true {
			return authenticationv1.UserInfo{}, false
		}
	}
	user := authenticationv1.UserInfo{Username: o.options.UsernamePrefix + name, Groups: []string{groupAuthenticated}}
	if name == "" || strings.HasPrefix(user.Username, systemPrefix) {
		return authenticationv1.UserInfo{}, false
	}
	var groups []string
	if o.options.GroupsClaim != "" {
		groups = textsOf(claims[o.options.GroupsClaim])
	}
	for _, group := range groups {
		group = o.options.GroupsPrefix + group
		if !strings.HasPrefix(group, systemPrefix) && !slices.Contains(user.Groups, group) {
			user.Groups = append(user.Groups, group)
		}
	}
	return user, true
}

// textsOf returns the strings of a claim that is a string or a list, and nil for any other claim.
func textsOf(claim any) []string {
	switch value := claim.(type) {
	case string:
		return []string{value}
	case []any:
		var texts []string
		for _, element := range value {
			if text, ok := element.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	default:
		return nil
	}
}
