// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentRemote is an agent that runs elsewhere.
type AgentRemote struct {
	// url is where the agent is: its origin, such as
	// https://agents.example.com, with a path where several agents share one.
	// Of the addresses on its card those of this origin count, and credentials
	// go nowhere else.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.contains('@') && !self.contains('?') && !self.contains('#')",message="spec.remote.url must be an absolute http or https URL without credentials, query and fragment"
	// +required
	URL string `json:"url"`

	// cardPath is the path of the card at the origin. Without it the card is
	// looked for at /.well-known/agent-card.json and then at
	// /.well-known/agent.json, below the path of url.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.remote.cardPath must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits"
	// +optional
	CardPath string `json:"cardPath,omitempty"`

	// credentials are shown when the card is read. Absent shows none.
	// +optional
	Credentials *RemoteCredentials `json:"credentials,omitempty"`

	// refreshInterval is how often the card is read, as a duration between
	// "10s" and "24h". It defaults to "5m".
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="spec.remote.refreshInterval must be between 10s and 24h"
	// +optional
	RefreshInterval Duration `json:"refreshInterval,omitempty"`
}

// RemoteCredentials are those for reading the card of a remote agent.
type RemoteCredentials struct {
	// secretRef names the Secret that holds them. The operator must be allowed
	// to get it.
	// +required
	SecretRef RemoteSecretRef `json:"secretRef"`

	// header is the header that carries the value. It defaults to
	// Authorization, where the value is a bearer token.
	// +kubebuilder:default=Authorization
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9-]*$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer'])",message="spec.remote.credentials.header must not be one that belongs to the connection"
	// +optional
	Header string `json:"header,omitempty"`
}

// RemoteSecretRef names a value of a Secret in the Agent's namespace.
type RemoteSecretRef struct {
	// name is the Secret's metadata.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// key is the key of the value. It defaults to "token".
	// +kubebuilder:default=token
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}
