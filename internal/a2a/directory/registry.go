// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
)

// Registry is the registry that a directory agent reads. Its methods are safe for
// concurrent use. Their errors are *a2a.Error and the errors of ctx.
type Registry interface {
	// Find returns a page of a search. The parameters are those of GET /v1/agents.
	Find(ctx context.Context, parameters url.Values) (*Page, error)
	// Card returns the card of an agent as a JSON object. If version is "1.0", it returns
	// the card of 1.0, and for any other version the union card.
	Card(ctx context.Context, a Agent, version string) (json.RawMessage, error)
}

// Page is a page of a search.
type Page struct {
	// Items are entries of the registry, each a JSON object.
	Items []json.RawMessage `json:"items"`
	// NextCursor is "" on the last page.
	NextCursor string `json:"nextCursor"`
	Total      int    `json:"total"`
}

// Agent is the name of an agent.
type Agent struct{ Namespace, Name string }

// ParseAgent reads a name such as team/echo. It returns false unless both parts are DNS
// labels.
func ParseAgent(text string) (Agent, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	return Agent{namespace, name}, ok && label(namespace) && label(name)
}

func label(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-' && s[len(s)-1] != '-'
}

func (a Agent) String() string { return a.Namespace + "/" + a.Name }
