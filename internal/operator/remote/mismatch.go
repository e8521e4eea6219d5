// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// maxSchemeName is the length at which the name of a header or parameter on a card is cut in a message.
const maxSchemeName = 64

// mismatch returns a message if no scheme of a card is met by the credentials of the Agent, which may be nil, and "" otherwise.
// Without credentials, callers may send their own Authorization header. ownCertificate is true if the calling sidecars present theirs.
func mismatch(schemes []card.SecurityScheme, credentials *a2av1alpha1.RemoteCredentials, ownCertificate bool) string {
	if len(schemes) == 0 {
		return ""
	}
	for i := range schemes {
		if ownCertificate && schemes[i].Type == card.SchemeMutualTLS || meets(&schemes[i], credentials) {
			return ""
		}
	}
	return fmt.Sprintf("The agent serves its card, but spec.remote.credentials do not match: the card requires %s", cure(&schemes[0]))
}

// meets reports whether requests with the credentials can meet a scheme. A card rarely says what kind of bearer
// token it wants, so each of them meets each scheme of tokens.
func meets(s *card.SecurityScheme, c *a2av1alpha1.RemoteCredentials) bool {
	inAuthorization := s.Type == card.SchemeHTTP || s.Type == card.SchemeOAuth2 || s.Type == card.SchemeOpenIDConnect ||
		s.Type == card.SchemeAPIKey && s.In == "header" && strings.EqualFold(s.ParameterName, "Authorization")
	if c == nil {
		return inAuthorization
	}
	basic := s.Type == card.SchemeHTTP && strings.EqualFold(s.Scheme, "basic")
	switch c.Type {
	case a2av1alpha1.RemoteCredentialsBasic:
		return basic
	case a2av1alpha1.RemoteCredentialsClientCertificate:
		return s.Type == card.SchemeMutualTLS
	case a2av1alpha1.RemoteCredentialsAPIKey:
		if strings.EqualFold(c.APIKey.Header, "Authorization") {
			return inAuthorization
		}
		return s.Type == card.SchemeAPIKey && (s.In == "header" && strings.EqualFold(s.ParameterName, c.APIKey.Header) || s.In == "query" && s.ParameterName == c.APIKey.Query)
	default:
		return inAuthorization && !basic
	}
}

// cure returns what a scheme requires, and the fields to set.
func cure(s *card.SecurityScheme) string {
	name := safetext.Line(s.ParameterName[:min(len(s.ParameterName), maxSchemeName)])
	switch {
	case s.Type == card.SchemeMutualTLS:
		return "a client certificate; set spec.remote.credentials.type to ClientCertificate"
	case s.Type == card.SchemeAPIKey && s.In == "cookie":
		return fmt.Sprintf("a key in the cookie %q, which spec.remote.credentials cannot send; ask the owner of the agent for another scheme", name)
	case s.Type == card.SchemeAPIKey:
		return fmt.Sprintf("an API key; set spec.remote.credentials.type to APIKey, and apiKey.%s to %q", s.In, name)
	case s.Type == card.SchemeOAuth2 && s.Flow.Type == card.FlowClientCredentials:
		return "a token of an authorization server; set spec.remote.credentials.type to OAuth2"
	case s.Type == card.SchemeHTTP && strings.EqualFold(s.Scheme, "basic"):
		return "a user name and a password; set spec.remote.credentials.type to Basic"
	default:
		return "a bearer token; set spec.remote.credentials.type to Bearer or OAuth2"
	}
}
