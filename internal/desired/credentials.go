// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Where the sidecar finds what an Agent names in Secrets.
const (
	cardSigningDir = "/etc/a2a-card-signing"
	apiKeysDir     = "/etc/a2a-api-keys" //nolint:gosec // a path, not a credential
	tlsDir         = "/etc/a2a-tls"
	clientCADir    = "/etc/a2a-client-ca"
	trustDir       = "/etc/a2a-trust"
	passwordDir    = "/etc/a2a-store-password" //nolint:gosec // a path, not a credential
	storeTLSDir    = "/etc/a2a-store-tls"
	chatKeyDir     = "/etc/a2a-chat-key"
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
		if each.MTLS != nil {
			all = append(all, bundle(a2av1alpha1.VolumeClientCA, clientCADir, "--mtls-ca-bundle", &each.MTLS.CABundle))
		}
	}
	if tls := agent.Spec.Access.TLS; tls != nil {
		all = append(all, credential{
			volume: secretVolume(a2av1alpha1.VolumeTLS, tls.SecretRef, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, caFile),
			dir:    tlsDir,
			args:   []string{"--tls", tlsDir},
		})
	}
	if trust := agent.Spec.TrustBundle; trust != nil {
		all = append(all, bundle(a2av1alpha1.VolumeTrust, trustDir, "--trust-bundle", trust))
	}
	if chat := agent.Spec.Workload.Backend.Chat; chat != nil && chat.APIKeySecretRef != nil {
		all = append(all, chatKey(chat.APIKeySecretRef))
	}
	return append(all, storeCredentials(agent)...)
}

// chatKey is the API key of the model server, under one name whatever its key
// in the Secret is.
func chatKey(reference *a2av1alpha1.ChatAPIKeyReference) credential {
	volume := secretVolume(a2av1alpha1.VolumeChatKey, a2av1alpha1.SecretReference{Name: reference.Name})
	volume.Secret.Items = []corev1.KeyToPath{{Key: cmp.Or(reference.Key, chatKeyFile), Path: chatKeyFile}}
	return credential{volume: volume, dir: chatKeyDir, args: []string{"--chat-api-key-file", chatKeyDir + "/" + chatKeyFile}}
}

// chatKeyFile is where the API key of the model server is expected.
const chatKeyFile = "api-key"

// bundle holds the certificates of authorities, under one name wherever they
// are kept.
func bundle(name, dir, flag string, reference *a2av1alpha1.CABundleReference) credential {
	items := []corev1.KeyToPath{{Key: cmp.Or(reference.Key, caFile), Path: caFile}}
	volume := corev1.Volume{Name: name}
	if reference.Kind == a2av1alpha1.CABundleSecret {
		volume.Secret = &corev1.SecretVolumeSource{SecretName: reference.Name, Optional: new(true), Items: items}
	} else {
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: reference.Name}, Optional: new(true), Items: items,
		}
	}
	return credential{volume: volume, dir: dir, args: []string{flag, dir + "/" + caFile}}
}

// caFile is where the certificates of authorities are expected.
const caFile = "ca.crt"

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
