// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// Providers whose models have the chat completions API.
const (
	providerOpenAI    = "OpenAI"
	providerOllama    = "Ollama"
	providerAnthropic = "Anthropic"
	providerGemini    = "Gemini"
)

// Base URLs of the chat completions API of providers.
const (
	openAIURL    = "https://api.openai.com/v1"
	anthropicURL = "https://api.anthropic.com/v1"
	geminiURL    = "https://generativelanguage.googleapis.com/v1beta/openai"
)

// model is a ModelConfig of the manifests.
type model struct {
	*modelConfig
	source *conversion.Source
	// used is true if an Agent uses the model. The import reports an unused model as a whole. Of a used model, it reports
	// only the fields that it does not convert.
	used bool
}

// agentModel returns the settings with which the sidecar calls the model, or the reason why it cannot call the model. other
// is the URL of a server for models whose provider does not have the chat completions API.
func (m *model) agentModel(other string) (to *a2av1alpha1.AgentModel, reason string) {
	first := !m.used
	m.used = true
	address, reason := m.url(other)
	if reason != "" {
		if first {
			m.source.LeftOut(reason, "run a gateway with the chat completions API in front of the model, and name its URL with --model-url", "spec")
		}
		return nil, reason
	}
	to = &a2av1alpha1.AgentModel{URL: address, Name: m.Spec.Model, Headers: m.headers()}
	if m.Spec.APIKeySecret != "" && m.Spec.APIKeySecretKey != "" && m.hasAPI() {
		to.APIKeySecretRef = &a2av1alpha1.ModelKeyReference{Name: m.Spec.APIKeySecret, Key: m.Spec.APIKeySecretKey}
	}
	if first {
		m.report(to)
	}
	return to, ""
}

// hasAPI reports whether the provider has the chat completions API with a bearer token.
func (m *model) hasAPI() bool {
	return slices.Contains([]string{"", providerOpenAI, providerOllama, providerAnthropic, providerGemini}, m.Spec.Provider)
}

// url returns the base URL of the chat completions API, or the reason why there is none. other has the same meaning as
// for agentModel.
func (m *model) url(other string) (address, reason string) {
	switch s := &m.Spec; s.Provider {
	case "", providerOpenAI:
		address = openAIURL
		if s.OpenAI != nil && s.OpenAI.BaseURL != "" {
			address = s.OpenAI.BaseURL
		}
	case providerOllama:
		if s.Ollama == nil || s.Ollama.Host == "" {
			return "", "ModelConfig " + m.Name + " has no spec.ollama.host"
		}
		address = s.Ollama.Host
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		address = withVersion(address)
	case providerAnthropic:
		address = anthropicURL
		if s.Anthropic != nil && s.Anthropic.BaseURL != "" {
			address = withVersion(s.Anthropic.BaseURL)
		}
	case providerGemini:
		address = geminiURL
	default:
		if other == "" {
			return "", "models of the provider " + s.Provider + " do not have the chat completions API with an API key"
		}
		address = other
	}
	if !isServer(address) {
		return "", "the URL of the model in ModelConfig " + m.Name + " must be an http or https URL without credentials, and not of a loopback or link-local host"
	}
	return address, ""
}

func withVersion(address string) string {
	return strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/v1") + "/v1"
}

var ownHost = regexp.MustCompile(`^(localhost$|127[.]|169[.]254[.]|0[.]0[.]0[.]0$|::1?$)`)

// isServer reports whether the API server accepts a URL as the URL of a model server.
func isServer(address string) bool {
	u, err := url.Parse(address)
	return err == nil && conversion.IsWebURL(address) && u.Hostname() != "" && !strings.ContainsAny(address, "@#") && !ownHost.MatchString(strings.ToLower(u.Hostname()))
}

var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_|~-]{1,64}$")
	headerValue = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
	// refusedHeaders matches the headers that an Agent must not set: headers of the connection and of the body, headers with credentials,
	// and headers of the sidecar.
	refusedHeaders = regexp.MustCompile(`^(authorization|proxy-.*|cookie|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept|accept-encoding|traceparent|content-.*|a2a-.*)$`)
)

// refusedToolHeaders matches the headers that requests to an MCP server must not set.
var refusedToolHeaders = regexp.MustCompile(`^(host|connection|keep-alive|proxy-connection|proxy-authenticate|te|trailer|transfer-encoding|upgrade|expect|accept|accept-encoding|traceparent|tracestate|baggage|content-.*|a2a-.*|mcp-.*)$`)

const (
	maxHeaders     = 16
	maxHeaderValue = 1024
)

// headers returns the headers of the ModelConfig that an Agent may set, in the order of their names. The sidecar sends
// them.
func (m *model) headers() []a2av1alpha1.ModelHeader {
	all := maps.Clone(m.Spec.DefaultHeaders)
	if m.Spec.OpenAI != nil && m.Spec.OpenAI.Organization != "" {
		if all == nil {
			all = map[string]string{}
		}
		all["OpenAI-Organization"] = m.Spec.OpenAI.Organization
	}
	var out []a2av1alpha1.ModelHeader
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		lower := strings.ToLower(name)
		value := all[name]
		if used[lower] || len(out) == maxHeaders || len(value) > maxHeaderValue || !headerName.MatchString(name) || !headerValue.MatchString(value) || refusedHeaders.MatchString(lower) {
			continue
		}
		used[lower] = true
		out = append(out, a2av1alpha1.ModelHeader{Name: name, Value: value})
	}
	return out
}

// trustBundle returns the CA bundle that verifies the model server, nil if spec.tls does not name a Secret and its key.
func (m *model) trustBundle() *a2av1alpha1.CABundleReference {
	if m.Spec.TLS == nil || m.Spec.TLS.CACertSecretRef == "" || m.Spec.TLS.CACertSecretKey == "" {
		return nil
	}
	return &a2av1alpha1.CABundleReference{Kind: a2av1alpha1.CABundleSecret, Name: m.Spec.TLS.CACertSecretRef, Key: m.Spec.TLS.CACertSecretKey}
}

// report reports the fields of the model that Agents do not have.
func (m *model) report(to *a2av1alpha1.AgentModel) {
	s := m.source
	s.Drop("spec", "provider")
	s.Drop("spec", "model")
	s.Converted(to, "spec")
	m.reportHeaders(to)
	if to.APIKeySecretRef != nil {
		s.Drop("spec", "apiKeySecret")
		s.Drop("spec", "apiKeySecretKey")
	}
	const key = "the sidecar sends the API key of one key of a Secret as a bearer token"
	s.LeftOut(key, "set spec.model.apiKeySecretRef", "spec", "apiKeySecret")
	s.LeftOut(key, "set spec.model.apiKeySecretRef", "spec", "apiKeySecretKey")
	s.LeftOut("the sidecar does not forward the credential of a caller", "put a key into a Secret, and set spec.model.apiKeySecretRef", "spec", "apiKeyPassthrough")
	s.Drop("spec", "openAI", "baseUrl")
	s.Drop("spec", "anthropic", "baseUrl")
	s.Drop("spec", "ollama", "host")
	if m.Spec.Provider == providerAnthropic || m.Spec.Provider == providerGemini {
		s.Check("the sidecar calls the provider at "+to.URL+", where it offers the chat completions API", "see the documentation of the provider for what this API supports", "spec", "provider")
	}
	s.LeftOut("the sidecar sends an API key, and exchanges none", "let a gateway exchange it", "spec", "openAI", "tokenExchange")
	s.LeftOut("the timeouts are those of the Agent", "set spec.workload.backend.timeouts", "spec", "openAI", "timeout")
	for _, name := range []string{"openAI", "anthropic", "ollama", "azureOpenAI", "gemini", "geminiVertexAI", "anthropicVertexAI", "bedrock", "sapAICore", "foundry"} {
		for _, option := range s.Names("spec", name) {
			s.LeftOut("the sidecar sends no parameters of the model or the provider", "set them at the model server or at a gateway in front of it", "spec", name, option)
		}
		s.Drop("spec", name)
	}
	m.reportTLS()
}

func (m *model) reportHeaders(to *a2av1alpha1.AgentModel) {
	for _, header := range to.Headers {
		m.source.Drop("spec", "defaultHeaders", header.Name)
		if m.Spec.OpenAI != nil && header.Value == m.Spec.OpenAI.Organization {
			m.source.Drop("spec", "openAI", "organization")
		}
	}
	for _, name := range m.source.Names("spec", "defaultHeaders") {
		m.source.LeftOut("an Agent has at most 16 headers, without credentials and those of the connection", "put a key into a Secret, and set spec.model.apiKeySecretRef", "spec", "defaultHeaders", name)
	}
}

func (m *model) reportTLS() {
	s := m.source
	if bundle := m.trustBundle(); bundle != nil {
		s.Drop("spec", "tls", "caCertSecretRef")
		s.Drop("spec", "tls", "caCertSecretKey")
	}
	s.LeftOut("the sidecar always verifies certificates", "put the authority into a Secret, and name it in spec.trustBundle", "spec", "tls", "disableVerify")
	s.LeftOut("the sidecar trusts the public authorities, too", conversion.NothingToDo, "spec", "tls", "disableSystemCAs")
	s.LeftOut("a reference needs the name and the key of a Secret", "set spec.trustBundle", "spec", "tls")
}
