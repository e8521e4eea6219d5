// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
)

// maxFileHosts bounds the hosts from which a model server may fetch files.
const maxFileHosts = 32

var fileHost = regexp.MustCompile(`^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`)

// Limits of the headers for a model server.
const (
	maxHeaders     = 16
	maxHeaderName  = 64
	maxHeaderValue = 1024
)

func (b *Backend) validate(refuse func(field, format string, args ...any)) {
	chat := b.Protocol == ProtocolChatCompletions
	if !chat && (b.Chat.Model != "" || b.Chat.SystemPrompt != "" || len(b.Chat.Headers) > 0 || len(b.Chat.FileHosts) > 0 || len(b.Chat.MCP) > 0) {
		refuse("backend.chat", "needs backend.protocol %q", ProtocolChatCompletions)
	}
	u, err := hosturl.Parse(b.URL)
	switch {
	case chat && err != nil:
		refuse("backend.url", "%w", err)
	case !chat && (err != nil || u.Scheme != "http"):
		refuse("backend.url", "is %q, must be an absolute http URL", b.URL)
	}
	b.Chat.validateFileHosts(refuse)
	b.Chat.validateTools(refuse)
	if len(b.Chat.Headers) > maxHeaders {
		refuse("backend.chat.headers", "has %d headers, must have at most %d", len(b.Chat.Headers), maxHeaders)
	}
	seen := map[string]bool{}
	for i, h := range b.Chat.Headers {
		if err := h.Validate(); err != nil {
			refuse(fmt.Sprintf("backend.chat.headers[%d]", i), "%v", err)
		}
		if name := strings.ToLower(h.Name); seen[name] {
			refuse(fmt.Sprintf("backend.chat.headers[%d]", i), "names %q a second time", h.Name)
		} else {
			seen[name] = true
		}
	}
}

func (c *Chat) validateFileHosts(refuse func(field, format string, args ...any)) {
	if len(c.FileHosts) > maxFileHosts {
		refuse("backend.chat.fileHosts", "has %d hosts, must have at most %d", len(c.FileHosts), maxFileHosts)
	}
	for i, host := range c.FileHosts {
		if _, err := netip.ParseAddr(host); err == nil || !fileHost.MatchString(host) {
			refuse(fmt.Sprintf("backend.chat.fileHosts[%d]", i), "is %q, must be a DNS name in lower case, such as files.example.com or *.example.com", host)
		}
	}
}

// External reports whether the backend is a model server outside of the sidecar's pod
// or machine. This is true if the host of its URL is neither localhost nor a loopback
// address, in any spelling.
func (b *Backend) External() bool {
	u, err := url.Parse(b.URL)
	if err != nil || b.Protocol != ProtocolChatCompletions {
		return false
	}
	return !IsLoopback(u.Hostname())
}

// IsLoopback reports whether a host is localhost or a loopback address, in any spelling.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

var (
	credentialHeaders = []string{"authorization", "proxy-authorization", "cookie"}
	reservedHeaders   = []string{
		"host", "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer", "transfer-encoding",
		"upgrade", "expect", "accept", "accept-encoding", "traceparent", "tracestate", "baggage",
	}
)

// Validate returns an error if a header cannot be sent to a model server. The error
// does not contain the value of the header, because the value may be a credential.
func (h Header) Validate() error {
	const token = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+.^_|~-"
	name := strings.ToLower(h.Name)
	switch {
	case name == "" || len(name) > maxHeaderName || strings.Trim(name, token) != "":
		return fmt.Errorf("must have a name of 1 to %d letters, digits and dashes", maxHeaderName)
	case slices.Contains(credentialHeaders, name):
		return fmt.Errorf("must not be %s: the values of headers are not secret; give the API key of the model server as a file", h.Name)
	case slices.Contains(reservedHeaders, name), strings.HasPrefix(name, "content-"), strings.HasPrefix(name, "a2a-"):
		return fmt.Errorf("must not be %s, which belongs to the connection or the body, or is set by the sidecar", h.Name)
	case h.Value == "" || len(h.Value) > maxHeaderValue || strings.TrimSpace(h.Value) != h.Value ||
		strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("must have a value of 1 to %d visible ASCII characters, with blanks within only", maxHeaderValue)
	}
	return nil
}

// ParseHeader parses a header in the form of the flag --chat-header, such as
// X-Team=blue.
func ParseHeader(text string) (Header, error) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return Header{}, errors.New("must be name=value")
	}
	h := Header{Name: name, Value: value}
	return h, h.Validate()
}
