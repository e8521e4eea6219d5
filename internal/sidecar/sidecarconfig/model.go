// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
)

// MaxInstructions is the maximum length of instructions in a file, in bytes.
const MaxInstructions = 64 << 10

// Model configures an agent without code: a language model with instructions and tools.
type Model struct {
	// Name is the name of the model. "" means the first model that the server lists.
	Name string `json:"name,omitempty"`
	// Instructions are the first message of every conversation. If they are "", there is none. A file that a flag names has
	// precedence.
	Instructions string `json:"instructions,omitempty"`
	// Headers are sent to the server with each request. They are not secret. The API key
	// is not part of them, because it is mounted from a Secret.
	Headers []Header `json:"headers,omitempty"`
	// FileHosts are the hosts from which the model server may fetch the files of callers: a
	// name or *.name. Without any, the URLs of files are refused.
	FileHosts []string `json:"fileHosts,omitempty"`
	// MCP are the MCP servers, and Agents the agents, whose tools the model may call.
	MCP    []MCPServer `json:"mcp,omitempty"`
	Agents []AgentTool `json:"agents,omitempty"`
	// Discover is set if the model may find and call every agent that this agent may see.
	Discover *Discover `json:"discover,omitempty"`
	// Approval is how long a request for approval is open, 1 h by default.
	Approval Duration `json:"approval,omitzero"`
	// Limits bound a turn. A zero field has its default.
	Limits ModelLimits `json:"limits"`
	// Schema is the JSON Schema of the answer. Without it, the answer is a text.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Fallbacks are further model servers, in the order in which they are called.
	Fallbacks []ModelServer `json:"fallbacks,omitempty"`
	// HidesSteps is true if clients do not see the calls of tools.
	HidesSteps bool `json:"hidesSteps"`
	// ClusterDomain is the DNS domain of the cluster, the end of the names of Services. "" means cluster.local.
	ClusterDomain string `json:"clusterDomain,omitempty"`
}

// ModelLimits bound a turn of a model. A zero field has its default.
type ModelLimits struct {
	// Steps is the number of answers of the model in a turn, 25 by default.
	Steps int `json:"steps,omitempty"`
	// ParallelCalls is how many calls of a turn run at a time, 8 by default.
	ParallelCalls int `json:"parallelCalls,omitempty"`
	// ResultBytes is how much of a result the model gets, 256 KiB by default.
	ResultBytes int `json:"resultBytes,omitempty"`
	// ContextTokens is how many tokens the model gets, as many as 1 MiB of text has by default.
	ContextTokens int `json:"contextTokens,omitempty"`
	// TaskTokens is how many tokens a task may use. 0 means any number.
	TaskTokens int64 `json:"taskTokens"`
}

// ModelServer is a further server with a model.
type ModelServer struct {
	URL     string   `json:"url"`
	Name    string   `json:"name,omitempty"`
	Headers []Header `json:"headers,omitempty"`
	// KeyFile is the file with the API key, below the directory of the flag --model-secrets. "" means no key.
	KeyFile string `json:"keyFile,omitempty"`
}

// AgentTool is an agent that the model may call.
type AgentTool struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// NeedsApproval is true if a person must approve each call.
	NeedsApproval bool `json:"needsApproval"`
}

// Discover gives the model tools that find and call agents.
type Discover struct {
	// NeedsApproval is true if a person must approve each call of an agent.
	NeedsApproval bool `json:"needsApproval"`
}

// Header is a header of HTTP requests.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HeaderFile is a header of HTTP requests whose value is a file below the directory of the flag --model-secrets.
type HeaderFile struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// maxFileHosts bounds the hosts from which a model server may fetch files.
const maxFileHosts = 32

// hostPattern matches a DNS name or an IPv4 address, and *.name.
var hostPattern = regexp.MustCompile(`^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`)

// maxFallbacks bounds the further model servers.
const maxFallbacks = 4

// Limits of the headers for a model server.
const (
	maxHeaders     = 16
	maxHeaderName  = 64
	maxHeaderValue = 1024
)

func (b *Backend) validate(refuse func(field, format string, args ...any)) {
	isModel := b.Protocol == ProtocolChatCompletions
	if !isModel && !reflect.ValueOf(b.Model).IsZero() {
		refuse("backend.model", "needs backend.protocol %q", ProtocolChatCompletions)
	}
	u, err := hosturl.Parse(b.URL)
	switch {
	case isModel && err != nil:
		refuse("backend.url", "%w", err)
	case !isModel && (err != nil || u.Scheme != "http"):
		refuse("backend.url", "is %q, must be an absolute http URL", b.URL)
	}
	b.Model.validateFileHosts(refuse)
	b.Model.validateTools(refuse)
	validateHeaders("backend.model.headers", b.Model.Headers, refuse)
	if len(b.Model.Fallbacks) > maxFallbacks {
		refuse("backend.model.fallbacks", "has %d servers, must have at most %d", len(b.Model.Fallbacks), maxFallbacks)
	}
	for i, server := range b.Model.Fallbacks {
		field := fmt.Sprintf("backend.model.fallbacks[%d]", i)
		if _, err := hosturl.Parse(server.URL); err != nil {
			refuse(field+".url", "%w", err)
		}
		validateHeaders(field+".headers", server.Headers, refuse)
		validateFile(field+".keyFile", server.KeyFile, refuse)
	}
}

// validateFile refuses a name that leads out of the directory of secrets.
func validateFile(field, name string, refuse func(field, format string, args ...any)) {
	if name != "" && !filepath.IsLocal(name) {
		refuse(field, "is %q, must be a path below the directory of secrets", name)
	}
}

func validateHeaders(field string, headers []Header, refuse func(field, format string, args ...any)) {
	if len(headers) > maxHeaders {
		refuse(field, "has %d headers, must have at most %d", len(headers), maxHeaders)
	}
	seen := map[string]bool{}
	for i, h := range headers {
		if err := h.Validate(); err != nil {
			refuse(fmt.Sprintf("%s[%d]", field, i), "%v", err)
		}
		name := strings.ToLower(h.Name)
		if seen[name] {
			refuse(fmt.Sprintf("%s[%d]", field, i), "names %q a second time", h.Name)
		}
		seen[name] = true
	}
}

func (m *Model) validateFileHosts(refuse func(field, format string, args ...any)) {
	if len(m.FileHosts) > maxFileHosts {
		refuse("backend.model.fileHosts", "has %d hosts, must have at most %d", len(m.FileHosts), maxFileHosts)
	}
	for i, host := range m.FileHosts {
		if _, err := netip.ParseAddr(host); err == nil || !hostPattern.MatchString(host) {
			refuse(fmt.Sprintf("backend.model.fileHosts[%d]", i), "is %q, must be a DNS name in lower case, such as files.example.com or *.example.com", host)
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

// ParseHeader parses a header in the form of the flag --model-header, such as
// X-Team=blue.
func ParseHeader(text string) (Header, error) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return Header{}, errors.New("must be name=value")
	}
	h := Header{Name: name, Value: value}
	return h, h.Validate()
}
