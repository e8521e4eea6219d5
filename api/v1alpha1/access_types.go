// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentAccess configures which callers an agent admits.
//
// +kubebuilder:validation:XValidation:rule="has(self.tls) || !has(self.authentication) || !self.authentication.exists(a, a.type == 'MTLS')",message="spec.access.tls is required for authentication of type MTLS: without TLS no client sends a certificate"
// +kubebuilder:validation:XValidation:rule="!has(self.delegation) || self.delegation == 'Accept' || !has(self.authentication) || self.authentication.exists(a, a.type == 'Kubernetes')",message="spec.access.delegation needs authentication of type Kubernetes: only the tokens of agents name a subject"
type AgentAccess struct {
	// authentication lists the accepted authentication types. A caller needs one of
	// them. It defaults to Kubernetes only.
	// +kubebuilder:default={{type: "Kubernetes"}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Authentication []Authentication `json:"authentication,omitempty"`

	// authorization lists rules for authenticated callers of every namespace. The
	// first rule that matches a call decides, and a call that matches none is
	// denied. If absent, callers of the Agent's own namespace and callers without a
	// namespace may make every call. An edit takes effect without a restart.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(r, !has(r.name) || self.exists_one(s, has(s.name) && s.name == r.name))",message="spec.access.authorization has two rules of the same name; rename one"
	// +listType=atomic
	// +optional
	Authorization []AuthorizationRule `json:"authorization,omitempty"`

	// delegation is what happens to calls on behalf of a user: another agent calls this
	// one during a turn of its own caller, the subject. Accept (the default) passes the
	// subject to authorization rules, the log and the agent, and separates the tasks of
	// subjects. Require also refuses a ServiceAccount that acts for itself. Ignore drops
	// the subject. It applies to authentication of type Kubernetes. An edit takes effect
	// without a restart.
	// +optional
	Delegation Delegation `json:"delegation,omitempty"`

	// tls serves the agent with TLS, at https and port 443 of its Service. If
	// absent, connections are not encrypted, unless a service mesh encrypts them.
	// +optional
	TLS *AccessTLS `json:"tls,omitempty"`

	// cors lists the web pages that may call the agent from a browser. If absent,
	// only pages at the agent's own host and port may call.
	// +optional
	CORS *AccessCORS `json:"cors,omitempty"`
}

// Delegation is what happens to calls on behalf of a subject.
//
// +kubebuilder:validation:Enum=Accept;Require;Ignore
type Delegation string

// The values of Delegation.
const (
	// DelegationAccept takes calls with and without a subject.
	DelegationAccept Delegation = "Accept"
	// DelegationRequire refuses calls of ServiceAccounts without a subject.
	DelegationRequire Delegation = "Require"
	// DelegationIgnore takes all calls as if they had no subject.
	DelegationIgnore Delegation = "Ignore"
)

// AccessCORS lists the web pages that may call an agent (the CORS protocol of
// the Fetch standard). Calls from a page need a credential like all others.
// Cookies are not accepted as credentials.
type AccessCORS struct {
	// allowedOrigins are the origins of the pages, such as https://app.example.com. An
	// origin contains the port if it is not the default port of the scheme. "*" allows
	// all pages.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^([*]|https?://[a-z0-9.-]+(:[0-9]{1,5})?)$`
	// +listType=set
	// +required
	AllowedOrigins []string `json:"allowedOrigins"`
}

// AccessTLS references the certificate of an agent. The sidecar mounts the
// Secret; the operator does not read it. New connections use a renewed
// certificate without a restart.
type AccessTLS struct {
	// secretRef names a Secret of type kubernetes.io/tls in the Agent's namespace,
	// such as those of cert-manager, with tls.crt and tls.key. The certificate must
	// be valid for <name>.<namespace>.svc.<cluster domain>, and for every other name by
	// which callers reach the agent.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// AuthenticationType is a way to authenticate callers.
//
// +kubebuilder:validation:Enum=Kubernetes;JWT;APIKey;MTLS;Anonymous
type AuthenticationType string

const (
	// AuthenticationKubernetes admits ServiceAccounts with a token for the audience
	// <name>.<namespace>.a2a-operator.dev: those of the Agent's namespace or, with
	// authorization rules, of every namespace.
	AuthenticationKubernetes AuthenticationType = "Kubernetes"
	// AuthenticationJWT admits callers with a token of the issuer in jwt.
	AuthenticationJWT AuthenticationType = "JWT"
	// AuthenticationAPIKey admits callers with a key of the Secret in apiKey.
	AuthenticationAPIKey AuthenticationType = "APIKey"
	// AuthenticationMTLS admits callers with a client certificate of the certificate
	// authorities in mtls.
	AuthenticationMTLS AuthenticationType = "MTLS"
	// AuthenticationAnonymous admits calls without a credential.
	AuthenticationAnonymous AuthenticationType = "Anonymous"
)

// Authentication is one accepted authentication type.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'MTLS' ? has(self.mtls) : !has(self.mtls)",message="mtls is required when type is MTLS, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'APIKey' ? has(self.apiKey) : !has(self.apiKey)",message="apiKey is required when type is APIKey, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'JWT' ? has(self.jwt) : !has(self.jwt)",message="jwt is required when type is JWT, and forbidden otherwise"
type Authentication struct {
	// type is Kubernetes, for the token of a ServiceAccount; JWT, for a token of
	// another issuer; APIKey, for a shared key; MTLS, for a client certificate; or
	// Anonymous, for calls without a credential. With Anonymous, everyone who can
	// connect to the Service may call the agent.
	// +required
	Type AuthenticationType `json:"type"`

	// jwt configures the accepted tokens. It is required for type JWT.
	// +optional
	JWT *JWTAuthentication `json:"jwt,omitempty"`

	// apiKey references the accepted keys. It is required for type APIKey.
	// +optional
	APIKey *APIKeyAuthentication `json:"apiKey,omitempty"`

	// mtls configures the accepted certificates. It is required for type MTLS.
	// +optional
	MTLS *MTLSAuthentication `json:"mtls,omitempty"`
}

// MTLSAuthentication admits callers with a client certificate (mutual TLS, RFC
// 8705). Clients without a certificate can use another type in the list.
//
// +kubebuilder:validation:XValidation:rule="(has(self.principal) && self.principal == 'Subject') != has(self.trustDomain)",message="trustDomain is required, unless principal is Subject, and must be absent then"
// +kubebuilder:validation:XValidation:rule="!has(self.principals) || !has(self.trustDomain) || self.principals.all(p, p == 'spiffe://' + self.trustDomain || p.startsWith('spiffe://' + self.trustDomain + '/') || has(self.federated) && self.federated.exists(f, p.startsWith('spiffe://' + f.trustDomain + '/')))",message="principals must be SPIFFE IDs of the trustDomain, or of one in federated"
// +kubebuilder:validation:XValidation:rule="!has(self.federated) || has(self.trustDomain) && !self.federated.exists(f, f.trustDomain == self.trustDomain)",message="federated must not list trustDomain again, and must be absent when principal is Subject"
// +kubebuilder:validation:XValidation:rule="!has(self.principals) || (has(self.principal) && self.principal == 'Subject') || self.principals.all(p, p.matches('^spiffe://[a-z0-9._-]+(/[a-zA-Z0-9._-]+)*(/[*])?$'))",message="principals must be SPIFFE IDs such as spiffe://example.org/ns/team/sa/caller, or prefixes of SPIFFE IDs that end in /*, unless principal is Subject"
type MTLSAuthentication struct {
	// caBundle references the PEM certificates of the certificate authorities that
	// verify clients. An edit takes effect without a restart, for open connections
	// too.
	// +required
	CABundle CABundleReference `json:"caBundle"`

	// principal is the part of the certificate that identifies the caller and the
	// owner of its tasks. With SPIFFE, it is the SPIFFE ID, which must be the only URI
	// of the certificate. With Subject, it is the subject in the form of RFC 2253 with
	// the prefix "x509:". It defaults to SPIFFE.
	// +kubebuilder:default=SPIFFE
	// +optional
	Principal CertificatePrincipal `json:"principal,omitempty"`

	// trustDomain is the trust domain of the authorities in caBundle, such as
	// example.org. The sidecar refuses a SPIFFE ID of another trust domain, because
	// another domain has other authorities. It is required, unless principal is
	// Subject.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9._-]+$`
	// +optional
	TrustDomain string `json:"trustDomain,omitempty"`

	// federated lists further trust domains, each with its own authorities, which verify
	// callers of this domain only.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=trustDomain
	// +optional
	Federated []FederatedTrustDomain `json:"federated,omitempty"`

	// principals lists the admitted callers: SPIFFE IDs, prefixes of SPIFFE IDs that
	// end in /*, or whole subjects. If absent, every caller with a certificate of the
	// authorities is admitted. If the authority is that of a cluster or a mesh, every
	// workload there has such a certificate.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +listType=set
	// +optional
	Principals []string `json:"principals,omitempty"`
}

// FederatedTrustDomain is a SPIFFE trust domain with its authorities.
type FederatedTrustDomain struct {
	// trustDomain is the trust domain, such as example.net.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9._-]+$`
	// +required
	TrustDomain string `json:"trustDomain"`

	// caBundle references the PEM certificates of its authorities.
	// +required
	CABundle CABundleReference `json:"caBundle"`
}

// CertificatePrincipal is the part of a certificate that identifies its owner.
//
// +kubebuilder:validation:Enum=SPIFFE;Subject
type CertificatePrincipal string

const (
	// CertificatePrincipalSPIFFE is the SPIFFE ID.
	CertificatePrincipalSPIFFE CertificatePrincipal = "SPIFFE"
	// CertificatePrincipalSubject is the subject.
	CertificatePrincipalSubject CertificatePrincipal = "Subject"
)

// CABundleReference names PEM certificates of certificate authorities in a
// ConfigMap or a Secret of the Agent's namespace.
type CABundleReference struct {
	// kind is ConfigMap or Secret. It defaults to ConfigMap.
	// +kubebuilder:default=ConfigMap
	// +optional
	Kind CABundleKind `json:"kind,omitempty"`

	// name is the metadata.name of the ConfigMap or Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`

	// key is the key of the certificates in the data. It defaults to ca.crt.
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
	// CABundleConfigMap is a ConfigMap, such as those of trust-manager.
	CABundleConfigMap CABundleKind = "ConfigMap"
	// CABundleSecret is a Secret.
	CABundleSecret CABundleKind = "Secret"
)

// APIKeyAuthentication admits callers with a shared key. The sidecar mounts the
// Secret; the operator does not read it. An edit of the Secret takes effect
// without a restart: removing a key revokes the access of its caller.
//
// +kubebuilder:validation:XValidation:rule="!has(self.header) || !has(self.query)",message="header and query are mutually exclusive; remove one"
type APIKeyAuthentication struct {
	// secretRef names a Secret in the Agent's namespace. Each key of its data is the
	// name of a caller, and the value is the API key of the caller: 32 to 512 visible
	// ASCII characters. During a rotation the value has two API keys, one per line.
	// The principal apikey:<name> identifies the caller and the owner of its tasks.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// header is the name of the HTTP header, or of the gRPC metadata, with the API
	// key. The name must end in key, so that it is not a name that A2A defines. It
	// defaults to X-API-Key.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][A-Za-z0-9_-]*)?[Kk][Ee][Yy]$`
	// +optional
	Header string `json:"header,omitempty"`

	// query is the name of a query parameter with the API key, in place of a header.
	// The name must end in key, as for header. Proxies log the query of a URL, so
	// prefer a header.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][A-Za-z0-9_-]*)?[Kk][Ee][Yy]$`
	// +optional
	Query string `json:"query,omitempty"`
}

// JWTAuthentication admits callers with a signed token (RFC 7519), such as an access
// token or an ID token of an OpenID Connect provider. The sidecar verifies the token
// locally, with keys of the issuer that it fetches every few minutes. If it cannot
// fetch them, the last keys stay valid for an hour. After that, the sidecar rejects
// all tokens of the issuer.
type JWTAuthentication struct {
	// issuer must equal the claim iss of the tokens. It is an https URL, or an http
	// URL of a Service of the cluster, such as http://dex.auth.svc.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.matches('^(https://[^/?#@:][^/?#@]*|http://[a-z0-9-]+[.][a-z0-9-]+[.]svc([.][a-z0-9-]+)*(:[0-9]+)?)(/[^?#@]*)?$')",message="must be an https URL without a query, or an http URL of <service>.<namespace>.svc, with or without the DNS domain of the cluster"
	// +required
	Issuer string `json:"issuer"`

	// audiences are the accepted audiences: the claim aud of a token must contain
	// one of them. Use an audience of this agent only, so that a service that
	// receives a token cannot use it to call this agent.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +listType=set
	// +required
	Audiences []string `json:"audiences"`

	// jwksURL is the URL of the issuer's keys (JWKS). If absent, the sidecar finds
	// it in /.well-known/openid-configuration below the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.matches('^(https://[^/?#@:][^/?#@]*|http://[a-z0-9-]+[.][a-z0-9-]+[.]svc([.][a-z0-9-]+)*(:[0-9]+)?)([/?][^#]*)?$')",message="must be an https URL, or an http URL of <service>.<namespace>.svc, with or without the DNS domain of the cluster"
	// +optional
	JWKSURL string `json:"jwksURL,omitempty"`

	// claims names the claims that the sidecar reads from a token.
	// +optional
	Claims JWTClaims `json:"claims,omitempty,omitzero"`

	// requiredScopes are the scopes that a token must have for every call, in its claim
	// scope or scp. The sidecar answers a call with a token that lacks one with status 403,
	// and the header WWW-Authenticate names the scopes. The card lists them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	// +listType=set
	// +optional
	RequiredScopes []string `json:"requiredScopes,omitempty"`

	// skillScopes lists further scopes for messages that name a skill.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=skill
	// +optional
	SkillScopes []SkillScopes `json:"skillScopes,omitempty"`

	// oauth2 describes on the card how clients get a token. With it, the sidecar also
	// serves protected resource metadata (RFC 9728) at
	// /.well-known/oauth-protected-resource.
	// +optional
	OAuth2 *OAuth2SignIn `json:"oauth2,omitempty"`
}

// SkillScopes are the scopes for one skill.
type SkillScopes struct {
	// skill is the id of the skill.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Skill string `json:"skill"`

	// scopes are the scopes that a token must have, in addition to requiredScopes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	// +listType=set
	// +required
	Scopes []string `json:"scopes"`
}

// OAuth2SignIn describes how clients get a token of the issuer. The URLs are for clients: the
// sidecar does not call them.
//
// +kubebuilder:validation:XValidation:rule="!('Discover' in self.flows) || self.flows.size() == 1",message="Discover stands for all flows of the issuer; remove the other flows, or Discover"
// +kubebuilder:validation:XValidation:rule="('Discover' in self.flows) != has(self.tokenURL)",message="tokenURL is required, unless flows is Discover, and forbidden then"
// +kubebuilder:validation:XValidation:rule="('AuthorizationCode' in self.flows) == has(self.authorizationURL)",message="authorizationURL is required for the flow AuthorizationCode, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="('DeviceCode' in self.flows) == has(self.deviceAuthorizationURL)",message="deviceAuthorizationURL is required for the flow DeviceCode, and forbidden otherwise"
type OAuth2SignIn struct {
	// flows are the flows that the authorization server allows. AuthorizationCode
	// requires PKCE (RFC 7636). Each flow is a security scheme on the card. Cards of A2A
	// before 1.0 have no form for DeviceCode. With Discover, the operator reads flows and
	// URLs from the discovery document of the issuer, and reads it again every 10 minutes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	// +required
	Flows []OAuth2Flow `json:"flows"`

	// authorizationURL is the URL of the authorization endpoint. It is required for the
	// flow AuthorizationCode.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\x00-\x20\x7F-\x9F#@]+$`
	// +optional
	AuthorizationURL string `json:"authorizationURL,omitempty"`

	// deviceAuthorizationURL is the URL of the device authorization endpoint (RFC 8628).
	// It is required for the flow DeviceCode.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\x00-\x20\x7F-\x9F#@]+$`
	// +optional
	DeviceAuthorizationURL string `json:"deviceAuthorizationURL,omitempty"`

	// tokenURL is the URL of the token endpoint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\x00-\x20\x7F-\x9F#@]+$`
	// +optional
	TokenURL string `json:"tokenURL,omitempty"`

	// scopes are the scopes that a client may request.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Scopes []OAuth2Scope `json:"scopes,omitempty"`
}

// OAuth2Flow is an OAuth 2 flow.
//
// +kubebuilder:validation:Enum=AuthorizationCode;ClientCredentials;DeviceCode;Discover
type OAuth2Flow string

const (
	// OAuth2AuthorizationCode is the authorization code flow with PKCE, for people.
	OAuth2AuthorizationCode OAuth2Flow = "AuthorizationCode"
	// OAuth2ClientCredentials is the client credentials flow, for programs.
	OAuth2ClientCredentials OAuth2Flow = "ClientCredentials"
	// OAuth2DeviceCode is the device authorization flow, for people with another device.
	OAuth2DeviceCode OAuth2Flow = "DeviceCode"
	// OAuth2Discover stands for the flows in the discovery document of the issuer.
	OAuth2Discover OAuth2Flow = "Discover"
)

// OAuth2Scope is a scope that a client may request.
type OAuth2Scope struct {
	// name is the scope.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[!#-\[\]-~]+$`
	// +required
	Name string `json:"name"`

	// description says what the scope allows.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Description string `json:"description,omitempty"`
}

// JWTClaims names claims of a token. Each is a top-level claim with a string
// value.
type JWTClaims struct {
	// principal is the claim that identifies the caller and the owner of its tasks. It
	// defaults to sub. Do not use a claim that callers can set themselves.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Principal string `json:"principal,omitempty"`

	// namespace is the claim with the caller's namespace. If set, only callers of
	// the Agent's namespace are admitted. If absent, all callers with a token of the
	// issuer and audiences are admitted. With access.authorization, the rules decide
	// instead.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// owner is the claim with the owner of the caller's tasks, such as tenant_id.
	// Callers with the same value share their tasks, lists, subscriptions and push
	// configurations. A token without the claim is rejected. It defaults to the
	// principal. Do not use a claim that callers can set themselves.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Owner string `json:"owner,omitempty"`
}
