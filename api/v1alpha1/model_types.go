// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// AgentModel is an agent without code: a language model, instructions, and tools.
// The sidecar calls the model, runs the calls of tools that the model asks for, and
// repeats this until the model answers.
//
// +kubebuilder:validation:XValidation:rule="!has(self.instructions) || !has(self.instructionsFrom)",message="spec.model.instructions and spec.model.instructionsFrom are one setting: remove one of them"
type AgentModel struct {
	// url is the URL of a model server outside of the pod: the base URL of its API,
	// such as http://vllm.models.svc:8000/v1, or the URL of its completions, which
	// ends in /chat/completions. Without a path, /v1 is added. The server speaks the
	// chat completions API of OpenAI, as vLLM, Ollama and llama.cpp do. The host may be
	// a Service, a private or a public address. Loopback, link-local and cloud metadata
	// addresses are never allowed, nor are the pod itself and the API server. The
	// sidecar verifies an https server with the public certificate authorities and
	// those of spec.trustBundle. With http, it sends everything unencrypted, including
	// the API key. The URL is not secret: do not put a key into it. An edit replaces
	// the pods.
	//
	// If absent, the model server is the first container of spec.workload.template, at
	// the port and path of spec.workload.backend.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.contains('@') && !self.contains('#')",message="spec.model.url must be an absolute http or https URL without credentials and fragment, such as http://vllm.models.svc:8000/v1; a key belongs in apiKeySecretRef"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^https?://(localhost([:/?]|$)|127[.][0-9]|169[.]254[.]|0[.]0[.]0[.]0|[[]::1?[]])')",message="spec.model.url must not name a loopback or link-local address: leave url out for a model server in the pod, and give its container in spec.workload.template"
	// +optional
	URL string `json:"url,omitempty"`

	// name is the name of the model at the server. If absent, the sidecar uses the
	// first model that the server lists.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Name string `json:"name,omitempty"`

	// apiKeySecretRef names the API key for the model server. The sidecar sends it
	// as a bearer token in the header Authorization, without leading and trailing
	// white space. A changed key takes effect without a restart. If absent, none is
	// sent.
	// +optional
	APIKeySecretRef *ModelKeyReference `json:"apiKeySecretRef,omitempty"`

	// headers are HTTP headers that the sidecar sends to the model server with each
	// request, such as those that a gateway uses for routing or billing. Their values
	// are not secret: the ConfigMap of the Agent contains them. An edit takes effect
	// without a restart.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))",message="spec.model.headers must name each header once, in upper or lower case: remove one of the two"
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []ModelHeader `json:"headers,omitempty"`

	// fileHosts are the hosts from which the model server may fetch the files of
	// callers. The sidecar passes the URL of an image on only if it is an https URL of
	// one of these hosts. It checks the name, or the literal address, and does not
	// resolve it, because the model server fetches the file. If absent, a message with
	// the URL of a file is rejected; images with their bytes and data: URLs always pass.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	FileHosts []FileHost `json:"fileHosts,omitempty"`

	// instructions are the first message, of role system, of every conversation with
	// the model. {{caller}} is replaced by the principal that sent the message,
	// {{date}} by the day in UTC, and {{agent.name}} by the name of the Agent; other
	// texts in braces stay. An edit takes effect without a restart.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +optional
	Instructions string `json:"instructions,omitempty"`

	// instructionsFrom names a ConfigMap of the namespace that has the instructions, at
	// most 64 KiB. A changed ConfigMap takes effect without a restart. Another name or
	// key replaces the pods.
	// +optional
	InstructionsFrom *ConfigMapKeyReference `json:"instructionsFrom,omitempty"`

	// tools are what the model may call. If absent, the model only answers.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.mcp) || self.exists_one(b, has(b.mcp) && (has(a.mcp.url) ? has(b.mcp.url) && a.mcp.url == b.mcp.url : has(a.mcp.port) && has(b.mcp.port) && a.mcp.port == b.mcp.port)) || !has(a.mcp.url) && !has(a.mcp.port))",message="spec.model.tools must name each MCP server once: put all its settings into one entry"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.agent) || self.exists_one(b, has(b.agent) && (has(a.agent.name) ? has(b.agent.name) && a.agent.name == b.agent.name && (has(a.agent.__namespace__) ? a.agent.__namespace__ : '') == (has(b.agent.__namespace__) ? b.agent.__namespace__ : '') : !has(b.agent.name))))",message="spec.model.tools must name each agent once, and have discover in one entry at most"
	// +listType=atomic
	// +optional
	Tools []ModelTool `json:"tools,omitempty"`

	// approval configures how people approve calls of tools.
	// +optional
	Approval *ModelApproval `json:"approval,omitempty"`

	// limits bounds a turn of the model. If absent, the defaults apply.
	// +optional
	Limits *ModelLimits `json:"limits,omitempty"`

	// context bounds what the model gets. If absent, the defaults apply.
	// +optional
	Context *ModelContext `json:"context,omitempty"`

	// output configures the form of the answer. If absent, the answer is a text.
	// +optional
	Output *ModelOutput `json:"output,omitempty"`

	// fallbacks are further model servers, in the order in which they are called if
	// the server before is overloaded (429), fails (5xx) or does not answer, and has
	// sent no text yet.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Fallbacks []ModelFallback `json:"fallbacks,omitempty"`

	// steps selects whether clients see each call of a tool: its name, the digest of
	// its arguments, its duration and its outcome. It defaults to Show.
	// +kubebuilder:default=Show
	// +optional
	Steps StepVisibility `json:"steps,omitempty"`
}

// StepVisibility selects whether clients see the calls of tools.
// +kubebuilder:validation:Enum=Show;Hide
type StepVisibility string

// The values of StepVisibility.
const (
	// StepsShow shows each call of a tool.
	StepsShow StepVisibility = "Show"
	// StepsHide shows none.
	StepsHide StepVisibility = "Hide"
)

// ModelTool is an MCP server or an agent whose tools a model may call.
//
// +kubebuilder:validation:XValidation:rule="has(self.mcp) != has(self.agent)",message="each entry of spec.model.tools needs either mcp or agent"
type ModelTool struct {
	// mcp is an MCP server. Each of its tools is a tool of the model.
	// +optional
	MCP *MCPTool `json:"mcp,omitempty"`

	// agent is another agent.
	// +optional
	Agent *AgentTool `json:"agent,omitempty"`
}

// MCPTool is an MCP server with the streamable HTTP transport.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.port)",message="spec.model.tools[].mcp needs either url, or port for an MCP server in a container of the pod"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || has(self.port)",message="spec.model.tools[].mcp.path is for port only: put the path into url"
// +kubebuilder:validation:XValidation:rule="!has(self.forwardCaller) || !self.forwardCaller || (has(self.url) && (!has(self.headersFrom) || !self.headersFrom.exists(h, h.name.lowerAscii() == 'authorization')))",message="spec.model.tools[].mcp.forwardCaller needs url, and no header Authorization in headersFrom: remove one of the two"
type MCPTool struct {
	// url is the URL of the server. The rules for the host are those of spec.model.url.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.contains('@') && !self.contains('#')",message="spec.model.tools[].mcp.url must be an absolute http or https URL without credentials and fragment, such as http://grafana-mcp.tools/mcp; a key belongs in headersFrom"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^https?://(localhost([:/?]|$)|127[.][0-9]|169[.]254[.]|0[.]0[.]0[.]0|[[]::1?[]])')",message="spec.model.tools[].mcp.url must not name a loopback or link-local address: use port for an MCP server in a container of the pod"
	// +optional
	URL string `json:"url,omitempty"`

	// port is the port of an MCP server in a container of spec.workload.template.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self < 8641 || self > 8643",message="spec.model.tools[].mcp.port must not be 8641, 8642 or 8643, the ports of the sidecar: use another port"
	// +optional
	Port int32 `json:"port,omitempty"`

	// path is the path of the server at port. It defaults to "/mcp".
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.model.tools[].mcp.path must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits"
	// +optional
	Path string `json:"path,omitempty"`

	// headersFrom are HTTP headers whose values are in Secrets, such as Authorization
	// with "Bearer " and a token. A changed value takes effect without a restart.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))",message="spec.model.tools[].mcp.headersFrom must name each header once, in upper or lower case: remove one of the two"
	// +listType=map
	// +listMapKey=name
	// +optional
	HeadersFrom []HeaderFromSecret `json:"headersFrom,omitempty"`

	// forwardCaller sends with each call of a tool a token for this server, which names
	// the caller of the turn and the agent. A call for a caller whose token the registry
	// cannot verify does not run. It defaults to false.
	// +optional
	ForwardCaller bool `json:"forwardCaller,omitempty"`

	// allow are patterns of the tools that the model may call, such as "get_*", where *
	// stands for any characters but /. If absent, it may call all tools of the server.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Allow []ToolPattern `json:"allow,omitempty"`

	// deny are patterns of the tools that the model may not call, even if allow has
	// them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Deny []ToolPattern `json:"deny,omitempty"`

	// approval are patterns of the tools whose calls a person must approve: "*" is all.
	// The task then waits for the approval of its caller.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Approval []ToolPattern `json:"approval,omitempty"`

	// approveWrites also requires approval for each tool that the server does not mark
	// as read-only (annotation readOnlyHint). It defaults to false.
	// +optional
	ApproveWrites bool `json:"approveWrites,omitempty"`

	// timeout bounds a call, as a duration. It defaults to "2m".
	// +optional
	Timeout Duration `json:"timeout,omitempty"`

	// required says that the agent cannot work without the server: its pods are not
	// ready until the server has listed its tools, and a turn fails while it does not.
	// It defaults to false: the model works without the tools, and learns why.
	// +optional
	Required bool `json:"required,omitempty"`
}

// ToolPattern is the name of a tool, in which * stands for any characters but /.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_./*-]+$`
type ToolPattern string

// HeaderFromSecret is an HTTP header whose value is in a Secret.
type HeaderFromSecret struct {
	// name is the name of the header. The API server rejects a header of the
	// connection or of the body, and a header that the sidecar sets.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'accept', 'accept-encoding', 'traceparent', 'tracestate', 'baggage']) && !self.lowerAscii().startsWith('content-') && !self.lowerAscii().startsWith('a2a-') && !self.lowerAscii().startsWith('mcp-')",message="headersFrom must not name a header of the connection or the body, or one that the sidecar sets (Host, Connection, Content-*, Accept, A2A-*, MCP-*, traceparent and the like): remove it"
	// +required
	Name string `json:"name"`

	// secretRef names the value in a Secret of the Agent's namespace.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// SecretKeyReference names a key of a Secret of the Agent's namespace.
type SecretKeyReference struct {
	// name is the metadata.name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`

	// key is the key in the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +required
	Key string `json:"key"`
}

// ConfigMapKeyReference names a key of a ConfigMap of the Agent's namespace.
type ConfigMapKeyReference struct {
	// name is the metadata.name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`

	// key is the key in the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +required
	Key string `json:"key"`
}

// AgentTool is another agent as a tool of a model. The calls go through the gateway
// of the sidecar, with the identity of this agent. The rules for access of the
// called agent apply.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != (has(self.discover) && self.discover)",message="spec.model.tools[].agent needs either name, or discover: true"
// +kubebuilder:validation:XValidation:rule="has(self.name) || !has(self.__namespace__)",message="spec.model.tools[].agent.namespace needs name"
type AgentTool struct {
	// name is the metadata.name of the Agent. The model gets a tool with this name,
	// whose description has the skills of the agent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Name string `json:"name,omitempty"`

	// namespace is the namespace of the Agent. It defaults to that of this Agent.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// discover gives the model the tools find_agents and call_agent, with which it
	// finds and calls every agent that this agent may see. It defaults to false.
	// +optional
	Discover bool `json:"discover,omitempty"`

	// approval requires that a person approves each call of the agent. It defaults to
	// false.
	// +optional
	Approval bool `json:"approval,omitempty"`
}

// ModelApproval configures how people approve calls of tools.
// +kubebuilder:validation:MinProperties=1
type ModelApproval struct {
	// timeout is how long a request for approval is open, as a duration. After it, the
	// call counts as rejected. It defaults to "1h".
	// +optional
	Timeout Duration `json:"timeout,omitempty"`

	// approvers are CEL expressions with the variables caller.principal,
	// caller.namespace, caller.claims, caller.ownsTask, request.tenant and those
	// of the subject in rules. Only callers for whom one of them is true may
	// decide, also about tasks of others. caller.ownsTask is true for the caller
	// whose task it is. If absent, this caller decides.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +listType=atomic
	// +optional
	Approvers []string `json:"approvers,omitempty"`
}

// ModelLimits bounds a turn of a model.
// +kubebuilder:validation:MinProperties=1
type ModelLimits struct {
	// steps is the number of answers of the model in a turn. It defaults to 25.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	// +optional
	Steps int32 `json:"steps,omitempty"`

	// parallelCalls is how many calls of tools of a turn run at a time. It defaults to
	// 8.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	ParallelCalls int32 `json:"parallelCalls,omitempty"`

	// resultBytes is how many bytes of the result of a tool the model gets. It defaults
	// to 262144.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=4194304
	// +optional
	ResultBytes int32 `json:"resultBytes,omitempty"`

	// tokensPerTask is how many tokens a task may use, in all its turns. The task fails
	// after the step that exceeds it. If absent, only spec.limits.tokens applies.
	// +kubebuilder:validation:Minimum=1
	// +optional
	TokensPerTask int64 `json:"tokensPerTask,omitempty"`
}

// ModelContext bounds what a model gets.
// +kubebuilder:validation:MinProperties=1
type ModelContext struct {
	// maxTokens is the size of the context of the model that conversations may use.
	// Above it, the oldest results of tools are replaced by a line, and then the oldest
	// messages by a summary that the model writes. A status tells the client. The
	// sidecar estimates the tokens from the usage that the server reports. It defaults
	// to what fits into 1 MiB.
	// +kubebuilder:validation:Minimum=1000
	// +kubebuilder:validation:Maximum=10000000
	// +optional
	MaxTokens int32 `json:"maxTokens,omitempty"`
}

// ModelOutput configures the form of an answer.
type ModelOutput struct {
	// schema is the JSON Schema of the answer. The model gets it as response_format, and
	// the answer is a data part. If an answer does not meet the schema, the model is
	// asked once more, and then the task fails.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	Schema *runtime.RawExtension `json:"schema"`
}

// ModelFallback is a further model server.
type ModelFallback struct {
	// url is the URL of the server, with the rules of spec.model.url.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.contains('@') && !self.contains('#')",message="spec.model.fallbacks[].url must be an absolute http or https URL without credentials and fragment, such as http://vllm.models.svc:8000/v1; a key belongs in apiKeySecretRef"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^https?://(localhost([:/?]|$)|127[.][0-9]|169[.]254[.]|0[.]0[.]0[.]0|[[]::1?[]])')",message="spec.model.fallbacks[].url must not name a loopback or link-local address"
	// +required
	URL string `json:"url"`

	// name is the name of the model at the server. If absent, the sidecar uses the
	// first model that the server lists.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Name string `json:"name,omitempty"`

	// apiKeySecretRef names the API key for the server. If absent, none is sent.
	// +optional
	APIKeySecretRef *ModelKeyReference `json:"apiKeySecretRef,omitempty"`

	// headers are HTTP headers that the sidecar sends with each request, with the rules
	// of spec.model.headers.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []ModelHeader `json:"headers,omitempty"`
}

// FileHost is a DNS name, or *. followed by a DNS name for its subdomains.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$')",message="must be a DNS name in lower case, such as files.example.com or *.example.com"
// +kubebuilder:validation:XValidation:rule="!isIP(self)",message="must be a DNS name, not an address"
type FileHost string

// ModelKeyReference names an API key in a Secret of the Agent's namespace.
type ModelKeyReference struct {
	// name is the metadata.name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`

	// key is the key of the API key in the Secret. It defaults to "api-key".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +optional
	Key string `json:"key,omitempty"`
}

// ModelHeader is an HTTP header that is sent to a model server.
type ModelHeader struct {
	// name is the name of the header. The API server rejects a header of the
	// connection or of the body, a header for credentials, and a header that the
	// sidecar sets.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['authorization', 'proxy-authorization', 'cookie'])",message="headers of a model server must not hold credentials: values of headers are not secret; put the key of the model server into a Secret and name it in apiKeySecretRef"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'accept', 'accept-encoding', 'traceparent', 'tracestate', 'baggage']) && !self.lowerAscii().startsWith('content-') && !self.lowerAscii().startsWith('a2a-')",message="headers of a model server must not name a header of the connection or the body, or one that the sidecar sets (Host, Connection, Content-*, Accept, A2A-*, traceparent and the like): remove it"
	// +required
	Name string `json:"name"`

	// value is the value of the header: visible ASCII characters, and spaces between
	// them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[!-~]([ -~]*[!-~])?$`
	// +required
	Value string `json:"value"`
}
