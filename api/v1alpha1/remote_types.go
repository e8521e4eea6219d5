// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentRemote is a remote agent: it speaks A2A, and the operator does not run
// it.
type AgentRemote struct {
	// url is the origin of the agent, such as https://agents.example.com, with a path
	// if several agents share the origin. The registry removes addresses at other
	// origins from the agent's card. The operator sends credentials to this origin
	// only.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.contains('@') && !self.contains('?') && !self.contains('#')",message="spec.remote.url must be an absolute http or https URL without credentials, query and fragment"
	// +required
	URL string `json:"url"`

	// cardPath is the path of the card at the origin. If absent, the operator tries
	// /.well-known/agent-card.json and then /.well-known/agent.json, below the path
	// of url.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.remote.cardPath must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits"
	// +optional
	CardPath string `json:"cardPath,omitempty"`

	// credentials are sent when the operator reads the card. If absent, none are
	// sent.
	// +optional
	Credentials *RemoteCredentials `json:"credentials,omitempty"`

	// refreshInterval is the interval at which the operator reads the card, as a
	// duration between "10s" and "24h". It defaults to "5m".
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="spec.remote.refreshInterval must be between 10s and 24h"
	// +optional
	RefreshInterval Duration `json:"refreshInterval,omitempty"`
}

// RemoteCredentials are the credentials for the card of a remote agent.
type RemoteCredentials struct {
	// secretRef names the Secret with the credentials. The operator needs the
	// permission to get this Secret.
	// +required
	SecretRef RemoteSecretRef `json:"secretRef"`

	// header is the name of the request header with the value from the Secret. It
	// defaults to Authorization. In this header, the value is sent as a bearer token.
	// +kubebuilder:default=Authorization
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9-]*$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer'])",message="spec.remote.credentials.header must not be a header of the connection, such as Host or Content-Length"
	// +optional
	Header string `json:"header,omitempty"`
}

// RemoteSecretRef names a key of a Secret in the Agent's namespace.
type RemoteSecretRef struct {
	// name is the metadata.name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Name string `json:"name"`

	// key is the key of the value in the Secret. It defaults to "token".
	// +kubebuilder:default=token
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Key string `json:"key,omitempty"`
}
