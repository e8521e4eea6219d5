// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kagent makes Agents from manifests of kagent: from Agents of kagent.dev/v1alpha2 with their models, MCP servers and
// prompts, and from Agents and AgentTemplates of v1alpha3. It converts the fields of kagent 0.9.9, and the fields that later
// releases up to August 2026 added.
//
// It declares its own types, because the module of kagent would add the dependencies of its
// controller. It reports unknown fields, like all fields that have no equivalent in an Agent. A field
// that it reports as a whole, whatever its value is, has the type json.RawMessage.
package kagent

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// agent is an Agent or a SandboxAgent of kagent.
type agent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              agentSpec `json:"spec"`
	Status            any       `json:"status,omitempty"`
}

type agentSpec struct {
	Type              string                     `json:"type,omitempty"`
	BYO               *byoAgent                  `json:"byo,omitempty"`
	Declarative       *declarativeAgent          `json:"declarative,omitempty"`
	Description       string                     `json:"description,omitempty"`
	IconURL           string                     `json:"iconUrl,omitempty"`
	DocumentationURL  string                     `json:"documentationUrl,omitempty"`
	Version           string                     `json:"version,omitempty"`
	Provider          *a2av1alpha1.AgentProvider `json:"provider,omitempty"`
	Skills            *skillSources              `json:"skills,omitempty"`
	Sandbox           json.RawMessage            `json:"sandbox,omitempty"`
	AllowedNamespaces *allowedNamespaces         `json:"allowedNamespaces,omitempty"`
	Platform          string                     `json:"platform,omitempty"`
	Substrate         json.RawMessage            `json:"substrate,omitempty"`
}

// skillSources are the sources of the skills that kagent loads into an agent.
type skillSources struct {
	Refs               []string                      `json:"refs,omitempty"`
	ImagePullSecrets   []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	InsecureSkipVerify bool                          `json:"insecureSkipVerify,omitempty"`
	GitAuthSecretRef   json.RawMessage               `json:"gitAuthSecretRef,omitempty"`
	GitRefs            []json.RawMessage             `json:"gitRefs,omitempty"`
	S3Refs             []json.RawMessage             `json:"s3Refs,omitempty"`
	InitContainer      json.RawMessage               `json:"initContainer,omitempty"`
}

type allowedNamespaces struct {
	From     string                `json:"from,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

type byoAgent struct {
	Deployment *byoDeployment `json:"deployment,omitempty"`
}

type byoDeployment struct {
	Image      string   `json:"image,omitempty"`
	Cmd        *string  `json:"cmd,omitempty"`
	Args       []string `json:"args,omitempty"`
	WorkingDir *string  `json:"workingDir,omitempty"`

	sharedDeployment `json:",inline"`
}

type declarativeDeployment struct {
	ImageRegistry string `json:"imageRegistry,omitempty"`

	sharedDeployment `json:",inline"`
}

type sharedDeployment struct {
	Replicas                  *int32                            `json:"replicas,omitempty"`
	ImagePullSecrets          []corev1.LocalObjectReference     `json:"imagePullSecrets,omitempty"`
	Volumes                   []corev1.Volume                   `json:"volumes,omitempty"`
	VolumeMounts              []corev1.VolumeMount              `json:"volumeMounts,omitempty"`
	Labels                    map[string]string                 `json:"labels,omitempty"`
	Annotations               map[string]string                 `json:"annotations,omitempty"`
	DeploymentAnnotations     map[string]string                 `json:"deploymentAnnotations,omitempty"`
	Env                       []corev1.EnvVar                   `json:"env,omitempty"`
	EnvFrom                   []corev1.EnvFromSource            `json:"envFrom,omitempty"`
	ImagePullPolicy           corev1.PullPolicy                 `json:"imagePullPolicy,omitempty"`
	Resources                 *corev1.ResourceRequirements      `json:"resources,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	SecurityContext           *corev1.SecurityContext           `json:"securityContext,omitempty"`
	PodSecurityContext        *corev1.PodSecurityContext        `json:"podSecurityContext,omitempty"`
	ServiceAccountName        *string                           `json:"serviceAccountName,omitempty"`
	ServiceAccountConfig      json.RawMessage                   `json:"serviceAccountConfig,omitempty"`
	ExtraContainers           []corev1.Container                `json:"extraContainers,omitempty"`
}

type declarativeAgent struct {
	Runtime           string                 `json:"runtime,omitempty"`
	SystemMessage     string                 `json:"systemMessage,omitempty"`
	SystemMessageFrom *valueSource           `json:"systemMessageFrom,omitempty"`
	PromptTemplate    *promptTemplate        `json:"promptTemplate,omitempty"`
	ModelConfig       string                 `json:"modelConfig,omitempty"`
	Stream            bool                   `json:"stream,omitempty"`
	Tools             []tool                 `json:"tools,omitempty"`
	A2AConfig         *a2aConfig             `json:"a2aConfig,omitempty"`
	Deployment        *declarativeDeployment `json:"deployment,omitempty"`
	ExecuteCodeBlocks *bool                  `json:"executeCodeBlocks,omitempty"`
	Memory            json.RawMessage        `json:"memory,omitempty"`
	ShareTools        *bool                  `json:"shareTools,omitempty"`
	Context           *contextConfig         `json:"context,omitempty"`
}

type promptTemplate struct {
	DataSources []promptSource `json:"dataSources,omitempty"`
}

// promptSource is a ConfigMap with fragments of prompts.
type promptSource struct {
	Kind     string `json:"kind,omitempty"`
	APIGroup string `json:"apiGroup,omitempty"`
	Name     string `json:"name"`
	Alias    string `json:"alias,omitempty"`
}

type contextConfig struct {
	Compaction *compaction `json:"compaction,omitempty"`
}

type compaction struct {
	TokenThreshold     *int            `json:"tokenThreshold,omitempty"`
	CompactionInterval *int            `json:"compactionInterval,omitempty"`
	OverlapSize        *int            `json:"overlapSize,omitempty"`
	EventRetentionSize *int            `json:"eventRetentionSize,omitempty"`
	Summarizer         json.RawMessage `json:"summarizer,omitempty"`
}

type valueSource struct {
	Type string `json:"type"`
	Name string `json:"name"`
	Key  string `json:"key"`
}

type reference struct {
	Kind      string `json:"kind,omitempty"`
	APIGroup  string `json:"apiGroup,omitempty"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

type tool struct {
	Type            string         `json:"type,omitempty"`
	McpServer       *mcpServerTool `json:"mcpServer,omitempty"`
	Agent           *reference     `json:"agent,omitempty"`
	IsolateSessions *bool          `json:"isolateSessions,omitempty"`
	HeadersFrom     []valueRef     `json:"headersFrom,omitempty"`
}

type mcpServerTool struct {
	reference       `json:",inline"`
	ToolNames       []string `json:"toolNames,omitempty"`
	RequireApproval []string `json:"requireApproval,omitempty"`
	AllowedHeaders  []string `json:"allowedHeaders,omitempty"`
}

type a2aConfig struct {
	Skills []conversion.SkillTexts `json:"skills,omitempty"`
}

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

	// The import converts none of the following fields, and reports each as a whole. Most are settings of providers without
	// the chat completions API.
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
