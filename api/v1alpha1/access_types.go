// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentAccess says who may call an agent.
//
// +kubebuilder:validation:XValidation:rule="has(self.tls) || !has(self.authentication) || !self.authentication.exists(a, a.type == 'MTLS')",message="spec.access.tls is required for authentication of type MTLS: without TLS no client shows a certificate"
type AgentAccess struct {
	// authentication lists the ways to prove who is calling; any one of them
	// is enough. It defaults to Kubernetes alone.
	// +kubebuilder:default={{type: "Kubernetes"}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Authentication []Authentication `json:"authentication,omitempty"`

	// authorization is a list of rules for the callers that authentication lets
	// in, of every namespace. The first rule that a call meets decides, and a
	// call that meets none is refused. Absent, callers of the Agent's own
	// namespace, and those who have no namespace, may do everything. A rule takes
	// effect without a restart.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(r, !has(r.name) || self.exists_one(s, has(s.name) && s.name == r.name))",message="two rules have one name"
	// +listType=atomic
	// +optional
	Authorization []AuthorizationRule `json:"authorization,omitempty"`

	// tls has the agent served with TLS, at https and port 443 of its Service.
	// Absent leaves it in the clear, which a service mesh may encrypt.
	// +optional
	TLS *AccessTLS `json:"tls,omitempty"`

	// cors says which web pages may call the agent from a browser. Absent lets
	// only those call that are served under the agent's own host and port.
	// +optional
	CORS *AccessCORS `json:"cors,omitempty"`
}

// AccessCORS says which web pages may call an agent (the CORS protocol of the
// Fetch standard). They need a credential as all callers do; cookies are none.
type AccessCORS struct {
	// allowedOrigins are those of the pages, such as https://app.example.com,
	// with a port if it is not the scheme's own, or "*" for all pages.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^([*]|https?://[a-z0-9.-]+(:[0-9]{1,5})?)$`
	// +listType=set
	// +required
	AllowedOrigins []string `json:"allowedOrigins"`
}

// AccessTLS is the certificate of an agent. The sidecar mounts it; the operator
// reads none. A renewed one takes effect without a restart, for connections that
// begin from then on.
type AccessTLS struct {
	// secretRef names a Secret of type kubernetes.io/tls in the Agent's
	// namespace, such as cert-manager makes: tls.crt, and tls.key. The
	// certificate is for <name>.<namespace>.svc.cluster.local, and for the names
	// at which callers from elsewhere know the agent.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// AuthenticationType names a way to prove who is calling.
//
// +kubebuilder:validation:Enum=Kubernetes;JWT;APIKey;MTLS;Anonymous
type AuthenticationType string

const (
	// AuthenticationKubernetes admits ServiceAccounts of the Agent's namespace
	// that show a token for the audience <name>.<namespace>.a2a-operator.dev
	// or a2a-operator.dev.
	AuthenticationKubernetes AuthenticationType = "Kubernetes"
	// AuthenticationJWT admits callers with a token of the issuer that its
	// member jwt names.
	AuthenticationJWT AuthenticationType = "JWT"
	// AuthenticationAPIKey admits callers with a key of the Secret that its
	// member apiKey names.
	AuthenticationAPIKey AuthenticationType = "APIKey"
	// AuthenticationMTLS admits callers with a client certificate of the
	// authorities that its member mtls names.
	AuthenticationMTLS AuthenticationType = "MTLS"
	// AuthenticationAnonymous admits calls without a credential.
	AuthenticationAnonymous AuthenticationType = "Anonymous"
)

// Authentication is one way to prove who is calling.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'MTLS' ? has(self.mtls) : !has(self.mtls)",message="mtls is required when type is MTLS, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'APIKey' ? has(self.apiKey) : !has(self.apiKey)",message="apiKey is required when type is APIKey, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'JWT' ? has(self.jwt) : !has(self.jwt)",message="jwt is required when type is JWT, and forbidden otherwise"
type Authentication struct {
	// type is Kubernetes, a ServiceAccount's token; JWT, a token of an issuer
	// that you name; APIKey, a key that you give out; MTLS, a client
	// certificate; or Anonymous, no credential at all. Anybody who reaches the
	// Service may call an Anonymous agent.
	// +required
	Type AuthenticationType `json:"type"`

	// jwt says which tokens are accepted, for type JWT.
	// +optional
	JWT *JWTAuthentication `json:"jwt,omitempty"`

	// apiKey says where keys are, for type APIKey.
	// +optional
	APIKey *APIKeyAuthentication `json:"apiKey,omitempty"`

	// mtls says which certificates are accepted, for type MTLS.
	// +optional
	MTLS *MTLSAuthentication `json:"mtls,omitempty"`
}

// MTLSAuthentication admits callers with a client certificate (RFC 8705 calls
// it mutual TLS). Clients without one can still show another credential that is
// listed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.principals) || (has(self.principal) && self.principal == 'Subject') || self.principals.all(p, p.matches('^spiffe://[a-z0-9._-]+(/[a-zA-Z0-9._-]+)*(/[*])?$'))",message="principals must be SPIFFE IDs such as spiffe://example.org/ns/team/sa/caller, or begin so and end in /*, unless principal is Subject"
type MTLSAuthentication struct {
	// caBundle holds the PEM certificates of the authorities that vouch for
	// clients. An edit takes effect without a restart, for open connections too.
	// +required
	CABundle CABundleReference `json:"caBundle"`

	// principal is what of the certificate names the caller, whom tasks belong
	// to: SPIFFE, its SPIFFE ID, which is its only URI; or Subject, its subject
	// as in RFC 2253, behind "x509:". It defaults to SPIFFE.
	// +kubebuilder:default=SPIFFE
	// +optional
	Principal CertificatePrincipal `json:"principal,omitempty"`

	// principals lists who is admitted: SPIFFE IDs, or the beginnings of some
	// with /* at their end; or whole subjects. Absent admits everybody with a
	// certificate of the authorities, which for those of a cluster or a mesh are
	// all its workloads.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=set
	// +optional
	Principals []string `json:"principals,omitempty"`
}

// CertificatePrincipal is what of a certificate names its owner.
//
// +kubebuilder:validation:Enum=SPIFFE;Subject
type CertificatePrincipal string

const (
	// CertificatePrincipalSPIFFE is its SPIFFE ID.
	CertificatePrincipalSPIFFE CertificatePrincipal = "SPIFFE"
	// CertificatePrincipalSubject is its subject.
	CertificatePrincipalSubject CertificatePrincipal = "Subject"
)

// CABundleReference names PEM certificates of authorities in a ConfigMap or a
// Secret of the Agent's namespace.
type CABundleReference struct {
	// kind is ConfigMap, the default, or Secret.
	// +kubebuilder:default=ConfigMap
	// +optional
	Kind CABundleKind `json:"kind,omitempty"`

	// name is its metadata.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`

	// key holds the certificates. It defaults to ca.crt.
	// +kubebuilder:default=ca.crt
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +optional
	Key string `json:"key,omitempty"`
}

// CABundleKind is a kind of object that holds certificates.
//
// +kubebuilder:validation:Enum=ConfigMap;Secret
type CABundleKind string

const (
	// CABundleConfigMap is a ConfigMap, such as trust-manager makes.
	CABundleConfigMap CABundleKind = "ConfigMap"
	// CABundleSecret is a Secret.
	CABundleSecret CABundleKind = "Secret"
)

// APIKeyAuthentication admits callers with a key that somebody gave them. The
// sidecar mounts the Secret; the operator reads none. An edit of the Secret
// takes effect without a restart: a key that is gone ends its caller's access.
//
// +kubebuilder:validation:XValidation:rule="!has(self.header) || !has(self.query)",message="header and query exclude each other"
type APIKeyAuthentication struct {
	// secretRef names a Secret in the Agent's namespace. Each of its keys names
	// a caller and holds the caller's API key, of 32 to 512 visible ASCII
	// characters, or while it is rotated two, one a line. The caller's tasks
	// belong to apikey:<name>.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// header is the name of the HTTP header, and of the gRPC metadata, that
	// holds the key. It ends in key, and defaults to X-API-Key.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][A-Za-z0-9_-]*)?[Kk][Ee][Yy]$`
	// +optional
	Header string `json:"header,omitempty"`

	// query is the name of a query parameter that holds the key instead. It
	// ends in key. Addresses are logged on the way to the agent: take a header
	// where you can.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][A-Za-z0-9_-]*)?[Kk][Ee][Yy]$`
	// +optional
	Query string `json:"query,omitempty"`
}

// JWTAuthentication admits callers with a signed token (RFC 7519), such as an
// access token or an ID token of an OpenID Connect provider. The sidecar
// verifies it by itself, with keys that it fetches every few minutes. When they
// cannot be fetched any more, the last ones are good for an hour; then all
// callers are refused.
type JWTAuthentication struct {
	// issuer is the iss of the tokens, to the letter. It is an https URL, or an
	// http one of a Service of the cluster, such as http://dex.auth.svc.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.matches('^(https://[^/?#@:][^/?#@]*|http://[a-z0-9-]+[.][a-z0-9-]+[.]svc([.]cluster[.]local)?(:[0-9]+)?)(/[^?#@]*)?$')",message="must be an https URL without a query, or an http URL of <service>.<namespace>.svc or <service>.<namespace>.svc.cluster.local"
	// +required
	Issuer string `json:"issuer"`

	// audiences are those that a token may be for; its aud must hold one of
	// them. Name one that belongs to this agent: a token that another service is
	// given must not be good here.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=set
	// +required
	Audiences []string `json:"audiences"`

	// jwksURL is where the issuer's keys are. Absent asks the issuer, below
	// /.well-known/openid-configuration.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.matches('^(https://[^/?#@:][^/?#@]*|http://[a-z0-9-]+[.][a-z0-9-]+[.]svc([.]cluster[.]local)?(:[0-9]+)?)([/?][^#]*)?$')",message="must be an https URL, or an http URL of <service>.<namespace>.svc or <service>.<namespace>.svc.cluster.local"
	// +optional
	JWKSURL string `json:"jwksURL,omitempty"`

	// claims says what is read from a token.
	// +optional
	Claims JWTClaims `json:"claims,omitempty,omitzero"`
}

// JWTClaims names claims of a token. Each is a top-level one that holds text.
type JWTClaims struct {
	// principal says who is calling, and whom tasks belong to. It defaults to
	// sub. Choose none that callers can set themselves.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Principal string `json:"principal,omitempty"`

	// namespace holds the caller's namespace. When it is set, callers of the
	// Agent's namespace are admitted and no others; absent, all callers of the
	// issuer and the audiences are. With access.authorization, its rules decide.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// owner holds whom tasks belong to, such as tenant_id: callers with one value
	// share their tasks, lists, subscriptions and push configurations. A token
	// without the claim is refused. It defaults to the principal. Choose none
	// that callers can set themselves.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Owner string `json:"owner,omitempty"`
}
