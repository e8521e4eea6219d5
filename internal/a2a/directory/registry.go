// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
)

// Registry is what a directory agent reads. Its methods are safe for concurrent use. Their
// errors are *a2a.Error, and those of the context.
type Registry interface {
	// Find returns a page of a search with the parameters of GET /v1/agents.
	Find(ctx context.Context, parameters url.Values) (*Page, error)
	// Card returns the card of an agent, a JSON object: the card of 1.0 for "1.0", and the
	// union card for any other version.
	Card(ctx context.Context, a Agent, version string) (json.RawMessage, error)
}

// Page is a page of a search.
type Page struct {
	// Items are entries, each a JSON object.
	Items []json.RawMessage `json:"items"`
	// NextCursor is "" on the last page.
	NextCursor string `json:"nextCursor"`
	Total      int    `json:"total"`
}

// Agent names an agent.
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
