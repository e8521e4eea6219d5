// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentCardSigning says how the Agent Card is signed, so that who reads it can
// tell that nobody has changed it on the way.
//
// The sidecar signs; the operator reads no Secret. Verifiers find the public
// keys at /.well-known/jwks.json of the agent.
type AgentCardSigning struct {
	// secretRef names a Secret in the Agent's namespace. Under tls.key it holds
	// the private key, as PEM or as JWK: EC on P-256 or P-384, Ed25519, or RSA
	// of 2048 bits or more. While keys are rotated it holds the former one
	// under previous.key: the card is signed with both. An edit of the Secret
	// takes effect without a restart. The key's id is that of the JWK, or the
	// RFC 7638 thumbprint of the public key.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// jwksURL is an https address at which you publish the public keys. It
	// stands in the signatures, for verifiers that have no other way to them.
	// Absent leaves it unsaid.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost() != ''",message="spec.cardSigning.jwksURL must be an absolute https URL"
	// +optional
	JWKSURL string `json:"jwksURL,omitempty"`
}

// The keys of a Secret that signs cards.
const (
	// CardSigningKey holds the private key.
	CardSigningKey = "tls.key"
	// CardSigningPreviousKey holds the one before, while keys are rotated.
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
