// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Scopes are the scopes that tokens of an issuer need. It is immutable.
type Scopes struct {
	// Required are needed for every call.
	Required []string
	// Skills are the further scopes for a message to a skill, by the id of the skill.
	Skills map[string][]string
}

// TokenScopes are the scopes of a caller with a token. They are immutable.
type TokenScopes struct {
	// Needed are the scopes that calls need, and Granted those in the caller's token.
	Needed  *Scopes
	Granted []string
}

// Scoped reports whether calls of the caller need scopes.
func (c *Caller) Scoped() bool { return c.Scopes != nil }

// CheckScopes returns an *a2a.Error with a challenge (RFC 6750, section 3) if the caller's token lacks a scope that the call
// needs. skill is the id of the skill that a message names, "" for none. Callers without a token of an issuer with Scopes
// need no scopes.
func (c *Caller) CheckScopes(skill string) error {
	if c.Scopes == nil {
		return nil
	}
	needed := slices.Concat(c.Scopes.Needed.Required, c.Scopes.Needed.Skills[skill])
	for _, scope := range needed {
		if !slices.Contains(c.Scopes.Granted, scope) {
			return &a2a.Error{
				Reason: a2a.ReasonPermissionDenied, Message: "Token lacks the scope " + scope,
				Challenge: bearerChallenge + `, error="insufficient_scope", scope="` + strings.Join(needed, " ") + `"`,
			}
		}
	}
	return nil
}

// scopesOf returns the scopes in the claims of a token: the claim scope, with spaces between the scopes (RFC 8693, section
// 4.2), or scp, which is such a text or a list.
func scopesOf(all map[string]json.RawMessage) []string {
	for _, name := range []string{"scope", "scp"} {
		var text string
		if json.Unmarshal(all[name], &text) == nil {
			return strings.Fields(text)
		}
		var list []string
		if json.Unmarshal(all[name], &list) == nil {
			return list
		}
	}
	return nil
}
