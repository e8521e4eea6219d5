// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"net/url"
	"slices"
	"strings"
)

// A2A configures calls to an agent whose backend protocol is A2A. Its fields replace or
// complete what the agent's card says.
type A2A struct {
	// Version is the version of A2A for calls to the agent, whatever its card says. If it
	// is "", the best version on the card is used.
	Version string `json:"version,omitempty"`
	// CardPath is the path of the agent's card. If it is "", the sidecar tries the usual
	// paths.
	CardPath string `json:"cardPath,omitempty"`
	// Query is appended to the URL of every request. It has no question mark.
	Query string `json:"query,omitempty"`
	// SessionAPI is the API at which the agent stores its sessions, at the gateway. "" means none.
	SessionAPI SessionAPI `json:"sessionAPI,omitempty"`
}

// SessionAPI is an API at which an agent stores its sessions.
type SessionAPI string

// SessionAPIKagent is the API of the SDKs of kagent 0.10.
const SessionAPIKagent SessionAPI = "Kagent"

// A2AVersions are the values of A2A.Version.
var A2AVersions = []string{"0.1", "0.2", "0.3", "1.0"}

func (a *A2A) validate(protocol Protocol, refuse func(field, format string, args ...any)) {
	if *a != (A2A{}) && protocol != ProtocolA2A {
		refuse("backend.a2a", "needs backend.protocol %q", ProtocolA2A)
	}
	if a.Version != "" && !slices.Contains(A2AVersions, a.Version) {
		refuse("backend.a2a.version", "is %q, must be one of %q", a.Version, A2AVersions)
	}
	if !PathOfURL(a.CardPath) && a.CardPath != "" {
		refuse("backend.a2a.cardPath", "is %q, must be the path of a URL, such as /agent-card.json", a.CardPath)
	}
	if !QueryOfURL(a.Query) && a.Query != "" {
		refuse("backend.a2a.query", "must be the query of a URL without its question mark, such as assistant_id=agent")
	}
	if a.SessionAPI != "" && a.SessionAPI != SessionAPIKagent {
		refuse("backend.a2a.sessionAPI", "is %q, must be %q", a.SessionAPI, SessionAPIKagent)
	}
}

// PathOfURL reports whether a text is the path of a URL, with its first slash.
func PathOfURL(text string) bool {
	u, err := url.Parse("http://x" + text)
	return err == nil && strings.HasPrefix(text, "/") && u.Host == "x" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		!strings.ContainsAny(text, "# ") && visible(text)
}

// QueryOfURL reports whether a text is the query of a URL, without its question mark.
func QueryOfURL(text string) bool {
	u, err := url.Parse("http://x/?" + text)
	return err == nil && text != "" && u.RawQuery == text && !strings.HasPrefix(text, "?") && !strings.ContainsAny(text, "# ") && visible(text)
}

// visible reports whether a text consists of ASCII characters without controls and
// spaces. Only such a text may be part of the first line of a request.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Protocol is the protocol between the sidecar and the backend.
type Protocol string

// The protocols.
const (
	// ProtocolEvents sends one POST request per turn. The response is text, JSON or a
	// stream of A2A events.
	ProtocolEvents Protocol = "Events"
	// ProtocolA2A is A2A, in the version on the agent's card.
	ProtocolA2A Protocol = "A2A"
	// ProtocolChatCompletions is the chat completions API of language model servers.
	ProtocolChatCompletions Protocol = "ChatCompletions"
)

// Protocols lists all protocols.
var Protocols = []Protocol{ProtocolEvents, ProtocolA2A, ProtocolChatCompletions}
