// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Credential authenticates the caller. At most one field is set.
type Credential struct {
	Bearer string
	APIKey string
}

// IsZero reports whether there is no credential.
func (c Credential) IsZero() bool { return c == Credential{} }

// apiKeyScheme returns the API key that the card declares, nil for none.
func apiKeyScheme(c *Card) *card.SecurityScheme {
	for i := range c.SecuritySchemes {
		if s := &c.SecuritySchemes[i]; s.Type == card.SchemeAPIKey {
			return s
		}
	}
	return nil
}

// authenticate adds the credential to a request. An API key is sent in the header, query parameter or cookie that the
// card declares.
func (c Credential) authenticate(r *http.Request, to *Card) {
	if c.Bearer != "" {
		r.Header.Set("Authorization", "Bearer "+c.Bearer)
	}
	if c.APIKey == "" {
		return
	}
	scheme, key := apiKeyScheme(to), c.APIKey
	switch scheme.In {
	case "query":
		q := r.URL.Query()
		q.Set(scheme.ParameterName, key)
		r.URL.RawQuery = q.Encode()
	case "cookie":
		r.AddCookie(&http.Cookie{Name: scheme.ParameterName, Value: url.QueryEscape(key)}) //nolint:gosec // a client sends no attributes
	default:
		r.Header.Set(scheme.ParameterName, key)
	}
}

// schemesHint returns a hint that lists the credentials that the card requires.
func schemesHint(c *Card) string {
	for i := range c.SecuritySchemes {
		switch s := &c.SecuritySchemes[i]; s.Type {
		case card.SchemeAPIKey:
			return "the card asks for an API key: set A2ACLI_API_KEY or --api-key"
		case card.SchemeOpenIDConnect:
			return fmt.Sprintf("the card asks for a token of %s: set A2ACLI_BEARER or --bearer", s.OpenIDConnectURL)
		case card.SchemeHTTP, card.SchemeOAuth2:
			return "the card asks for a bearer token: set A2ACLI_BEARER or --bearer"
		case card.SchemeMutualTLS:
			return "the card asks for a client certificate: use --cert-file and --key-file"
		}
	}
	return "set A2ACLI_BEARER or --bearer to a token for the agent"
}
