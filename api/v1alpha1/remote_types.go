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

	// addresses is Card (the default) if the addresses on the card at the origin of url
	// are right, and others are removed. Registered is for a card whose addresses no
	// client can reach, such as http://0.0.0.0:8000: each gets the origin of url, and
	// keeps its path.
	// +kubebuilder:default=Card
	// +optional
	Addresses RemoteAddresses `json:"addresses,omitempty"`

	// credentials authenticate the operator when it reads the card, and agents of the
	// cluster when they call. If absent, the operator sends none, and an agent sends
	// only the Authorization header of its own call.
	// +optional
	Credentials *RemoteCredentials `json:"credentials,omitempty"`

	// query is added to the URL of every request to the agent, for its card too, such as
	// tenant=acme. Do not put a key into it: use credentials.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9._~!$'()*+,;:@/?=&-]|%[0-9A-Fa-f]{2})*$`
	// +optional
	Query string `json:"query,omitempty"`

	// refreshInterval is the interval at which the operator reads the card, as a
	// duration between "10s" and "24h". It defaults to "5m".
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="spec.remote.refreshInterval must be between 10s and 24h"
	// +optional
	RefreshInterval Duration `json:"refreshInterval,omitempty"`
}

// RemoteAddresses says at which addresses a remote agent is called.
//
// +kubebuilder:validation:Enum=Card;Registered
type RemoteAddresses string

const (
	// RemoteAddressesCard are the addresses on the card.
	RemoteAddressesCard RemoteAddresses = "Card"
	// RemoteAddressesRegistered are those on the card with the origin in spec.remote.url.
	RemoteAddressesRegistered RemoteAddresses = "Registered"
)

// RemoteCredentials authenticate the cluster at a remote agent. They are sent to the
// origin in spec.remote.url only.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'APIKey' ? has(self.apiKey) : !has(self.apiKey)",message="apiKey is required when type is APIKey, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'OAuth2' ? has(self.oauth2) : !has(self.oauth2)",message="oauth2 is required when type is OAuth2, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="!has(self.namespaces) || !has(self.oauth2) || !has(self.oauth2.grant) || self.oauth2.grant != 'TokenExchange'",message="namespaces must be absent when oauth2.grant is TokenExchange, because the tokens of users do not leave their namespace"
// +kubebuilder:validation:XValidation:rule="!(self.type in ['Basic', 'ClientCertificate']) || !has(self.secretRef.key)",message="secretRef.key must be absent when type is Basic or ClientCertificate: the Secret is of type kubernetes.io/basic-auth or kubernetes.io/tls"
type RemoteCredentials struct {
	// type is Bearer (the default), for a token in the header Authorization; APIKey, for a
	// key in a header or query parameter; or Basic, for a user name and a password. OAuth2
	// is for tokens that an authorization server issues for a client secret, and
	// ClientCertificate for mutual TLS.
	// +kubebuilder:default=Bearer
	// +optional
	Type RemoteCredentialsType `json:"type,omitempty"`

	// secretRef names the Secret with the credentials. The operator needs the
	// permission to get this Secret.
	// +required
	SecretRef RemoteSecretRef `json:"secretRef"`

	// apiKey is the place of the key in a request. It is required for type APIKey.
	// +optional
	APIKey *RemoteAPIKey `json:"apiKey,omitempty"`

	// oauth2 configures how tokens are got. It is required for type OAuth2.
	// +optional
	OAuth2 *RemoteOAuth2 `json:"oauth2,omitempty"`

	// namespaces are further namespaces whose agents call with the credentials. "*"
	// means all. Agents of the Agent's own namespace always do. A user who may create
	// pods in one of these namespaces can read the credentials; with type OAuth2, the
	// tokens.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$`
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
}

// RemoteCredentialsType is a kind of credentials for a remote agent.
//
// +kubebuilder:validation:Enum=Bearer;APIKey;Basic;OAuth2;ClientCertificate
type RemoteCredentialsType string

const (
	// RemoteCredentialsBearer is a bearer token (RFC 6750).
	RemoteCredentialsBearer RemoteCredentialsType = "Bearer"
	// RemoteCredentialsAPIKey is a key in a header or a query parameter.
	RemoteCredentialsAPIKey RemoteCredentialsType = "APIKey"
	// RemoteCredentialsBasic is a user name with a password (RFC 7617).
	RemoteCredentialsBasic RemoteCredentialsType = "Basic"
	// RemoteCredentialsOAuth2 is a token of an authorization server.
	RemoteCredentialsOAuth2 RemoteCredentialsType = "OAuth2"
	// RemoteCredentialsClientCertificate is a client certificate (mutual TLS).
	RemoteCredentialsClientCertificate RemoteCredentialsType = "ClientCertificate"
)

// RemoteAPIKey is the place of an API key in a request.
//
// +kubebuilder:validation:XValidation:rule="has(self.header) != has(self.query)",message="one of header and query is required, and the other one forbidden"
type RemoteAPIKey struct {
	// header is the name of the request header with the key, such as X-API-Key. The
	// value is sent as it is in the Secret.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9-]*$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'content-length', 'content-type', 'transfer-encoding', 'upgrade', 'te', 'trailer'])",message="spec.remote.credentials.apiKey.header must not be a header of the connection or the content, such as Host or Content-Length"
	// +optional
	Header string `json:"header,omitempty"`

	// query is the name of the query parameter with the key. Proxies log the query of
	// a URL, so prefer a header.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._~-]*$`
	// +optional
	Query string `json:"query,omitempty"`
}

// RemoteOAuth2 configures how the operator gets a token. The operator caches the token,
// and gets the next one after half of its lifetime, or when the remote agent refuses it.
// The client secret does not leave the operator.
type RemoteOAuth2 struct {
	// tokenURL is the URL of the token endpoint of the authorization server. The operator
	// connects to it under the same rules as to the remote agent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.contains('@') && !self.contains('#')",message="spec.remote.credentials.oauth2.tokenURL must be an absolute http or https URL without credentials and fragment"
	// +required
	TokenURL string `json:"tokenURL"`

	// grant is ClientCredentials (the default), or TokenExchange: a call for a user then has
	// a token for which the user's own token was exchanged (RFC 8693). A call without a
	// user always has one of the client.
	// +optional
	Grant RemoteOAuth2Grant `json:"grant,omitempty"`

	// clientID identifies the client at the authorization server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	ClientID string `json:"clientID"`

	// scopes are the scopes of the tokens. If the authorization server issues a token
	// without one of them, the operator does not use the token.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	// +listType=set
	// +optional
	Scopes []string `json:"scopes,omitempty"`

	// audience is sent as the parameter audience, which some authorization servers
	// need.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Audience string `json:"audience,omitempty"`
}

// RemoteOAuth2Grant is the grant by which calls for users get a token.
//
// +kubebuilder:validation:Enum=ClientCredentials;TokenExchange
type RemoteOAuth2Grant string

const (
	// RemoteOAuth2ClientCredentials is the client credentials grant (RFC 6749, section 4.4).
	RemoteOAuth2ClientCredentials RemoteOAuth2Grant = "ClientCredentials"
	// RemoteOAuth2TokenExchange is the exchange of the user's token (RFC 8693).
	RemoteOAuth2TokenExchange RemoteOAuth2Grant = "TokenExchange"
)

// RemoteSecretRef names a Secret in the Agent's namespace.
type RemoteSecretRef struct {
	// name is the metadata.name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Name string `json:"name"`

	// key is the key of the value in the Secret. It defaults to "client-secret" for type
	// OAuth2, and to "token" for types Bearer and APIKey. For the other types it must be
	// absent: Basic uses the keys username and password, and ClientCertificate tls.crt and
	// tls.key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Key string `json:"key,omitempty"`
}
