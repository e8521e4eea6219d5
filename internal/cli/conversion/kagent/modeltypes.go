// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// modelConfig is a ModelConfig of kagent.
type modelConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              modelSpec `json:"spec"`
	Status            any       `json:"status,omitempty"`
}

type modelSpec struct {
	Model             string            `json:"model"`
	APIKeySecret      string            `json:"apiKeySecret,omitempty"`
	APIKeySecretKey   string            `json:"apiKeySecretKey,omitempty"`
	APIKeyPassthrough bool              `json:"apiKeyPassthrough,omitempty"`
	DefaultHeaders    map[string]string `json:"defaultHeaders,omitempty"`
	Provider          string            `json:"provider,omitempty"`
	OpenAI            *openAI           `json:"openAI,omitempty"`
	Anthropic         *anthropic        `json:"anthropic,omitempty"`
	Ollama            *ollama           `json:"ollama,omitempty"`
	TLS               *modelTLS         `json:"tls,omitempty"`

	// Providers without the chat completions API: the import leaves out each of these fields as a whole.
	AzureOpenAI       json.RawMessage `json:"azureOpenAI,omitempty"`
	Gemini            json.RawMessage `json:"gemini,omitempty"`
	GeminiVertexAI    json.RawMessage `json:"geminiVertexAI,omitempty"`
	AnthropicVertexAI json.RawMessage `json:"anthropicVertexAI,omitempty"`
	Bedrock           json.RawMessage `json:"bedrock,omitempty"`
	SAPAICore         json.RawMessage `json:"sapAICore,omitempty"`
	Foundry           json.RawMessage `json:"foundry,omitempty"`
}

type openAI struct {
	BaseURL          string          `json:"baseUrl,omitempty"`
	Organization     string          `json:"organization,omitempty"`
	Temperature      string          `json:"temperature,omitempty"`
	MaxTokens        int             `json:"maxTokens,omitempty"`
	TopP             string          `json:"topP,omitempty"`
	FrequencyPenalty string          `json:"frequencyPenalty,omitempty"`
	PresencePenalty  string          `json:"presencePenalty,omitempty"`
	Seed             *int            `json:"seed,omitempty"`
	N                *int            `json:"n,omitempty"`
	Timeout          *int            `json:"timeout,omitempty"`
	ReasoningEffort  *string         `json:"reasoningEffort,omitempty"`
	TokenExchange    json.RawMessage `json:"tokenExchange,omitempty"`
}

type anthropic struct {
	BaseURL     string `json:"baseUrl,omitempty"`
	MaxTokens   int    `json:"maxTokens,omitempty"`
	Temperature string `json:"temperature,omitempty"`
	TopP        string `json:"topP,omitempty"`
	TopK        int    `json:"topK,omitempty"`
}

type ollama struct {
	Host    string            `json:"host,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

type modelTLS struct {
	DisableVerify    bool   `json:"disableVerify,omitempty"`
	CACertSecretRef  string `json:"caCertSecretRef,omitempty"`
	CACertSecretKey  string `json:"caCertSecretKey,omitempty"`
	DisableSystemCAs bool   `json:"disableSystemCAs,omitempty"`
}

// mcpServer is a RemoteMCPServer. The import reads only its URL.
type mcpServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		URL string `json:"url"`
	} `json:"spec"`
}
