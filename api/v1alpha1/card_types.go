// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentCardSigning configures the signature of the Agent Card, with which
// clients verify its integrity.
//
// The sidecar signs the card; the operator does not read the Secret. The agent
// serves the public keys at /.well-known/jwks.json.
type AgentCardSigning struct {
	// secretRef names a Secret in the Agent's namespace. Its key tls.key has the
	// private key, as PEM or as JWK: EC on P-256 or P-384, Ed25519, or RSA of 2048
	// bits or more. During a rotation its key previous.key has the previous private
	// key, and the sidecar signs the card with both. An edit of the Secret takes
	// effect without a restart. The key id is the kid of the JWK, or its RFC 7638
	// thumbprint of the public key.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// jwksURL is an https URL at which you publish the public keys. The signatures
	// contain it (jku), for clients that do not know the keys. If absent, the
	// signatures contain no URL.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost() != ''",message="spec.cardSigning.jwksURL must be an absolute https URL"
	// +optional
	JWKSURL string `json:"jwksURL,omitempty"`
}

// The keys of a Secret that signs cards.
const (
	// CardSigningKey is the key of the private key.
	CardSigningKey = "tls.key"
	// CardSigningPreviousKey is the key of the previous private key during a
	// rotation.
	CardSigningPreviousKey = "previous.key"
)

// SecretReference names a Secret in the namespace of the Agent.
type SecretReference struct {
	// name is the Secret's metadata.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`
}
