// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Where the sidecar finds what an Agent names in Secrets.
const (
	cardSigningDir = "/etc/a2a-card-signing"
	apiKeysDir     = "/etc/a2a-api-keys" //nolint:gosec // a path, not a credential
)

// cardSigningKeys are what the sidecar is given of the Secret, the key that
// must be there first.
var cardSigningKeys = []string{a2av1alpha1.CardSigningKey, a2av1alpha1.CardSigningPreviousKey}

// credential is something secret that the sidecar is given.
type credential struct {
	volume corev1.Volume
	dir    string
	// args tell the sidecar of it. It is not the contract that does, for the
	// reason of the backend's URL: pods of the earlier spec have no such volume.
	args []string
}

// credentials are those of an Agent.
func credentials(agent *a2av1alpha1.Agent) []credential {
	var all []credential
	if signing := agent.Spec.CardSigning; signing != nil {
		c := credential{
			volume: secretVolume(a2av1alpha1.VolumeCardSigning, signing.SecretRef, cardSigningKeys...),
			dir:    cardSigningDir,
		}
		for _, key := range cardSigningKeys {
			c.args = append(c.args, "--card-signing-key", cardSigningDir+"/"+key)
		}
		all = append(all, c)
	}
	for _, each := range agent.Spec.Access.Authentication {
		if each.APIKey != nil {
			all = append(all, credential{
				volume: secretVolume(a2av1alpha1.VolumeAPIKeys, each.APIKey.SecretRef),
				dir:    apiKeysDir,
				args:   []string{"--api-keys", apiKeysDir},
			})
		}
	}
	return all
}

// secretVolume holds the keys of a Secret, all without any. It is optional,
// because a pod that waits for a volume says nothing of it: the sidecar ends
// without what it needs, and with an exit code that says why.
func secretVolume(name string, secret a2av1alpha1.SecretReference, keys ...string) corev1.Volume {
	source := &corev1.SecretVolumeSource{SecretName: secret.Name, Optional: new(true)}
	for _, key := range keys {
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: source}}
}
