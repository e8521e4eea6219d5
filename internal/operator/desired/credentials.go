// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// The directories at which the sidecar mounts Secrets and ConfigMaps of an Agent.
const (
	cardSigningDir  = "/etc/a2a-card-signing"
	apiKeysDir      = "/etc/a2a-api-keys"
	tlsDir          = "/etc/a2a-tls"
	clientCADir     = "/etc/a2a-client-ca"
	trustDir        = "/etc/a2a-trust"
	passwordDir     = "/etc/a2a-store-password"
	storeTLSDir     = "/etc/a2a-store-tls"
	modelKeyDir     = "/etc/a2a-model-key"
	modelSecretsDir = "/etc/a2a-model-secrets"
	instructionsDir = "/etc/a2a-instructions"
	proxyDir        = "/etc/a2a-egress-proxy"

	clientCertificateDir = "/etc/a2a-client-certificate"
)

// cardSigningKeys are the keys in the data of the card signing Secret. The sidecar mounts
// both. The first one is required.
var cardSigningKeys = []string{a2av1alpha1.CardSigningKey, a2av1alpha1.CardSigningPreviousKey}

// credential is a Secret or ConfigMap that the sidecar mounts.
type credential struct {
	volume corev1.Volume
	dir    string
	// args are the flags of the sidecar that name the mounted files. The sidecar
	// configuration does not name the files, because pods of an earlier spec read the same
	// configuration and do not have the volume.
	args []string
}

// credentials returns the credentials of an Agent.
func credentials(agent *a2av1alpha1.Agent, platform Platform) []credential {
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
			volume := secretVolume(a2av1alpha1.VolumeAPIKeys, each.APIKey.SecretRef)
			all = append(all, credential{volume, apiKeysDir, []string{"--api-keys", apiKeysDir}})
		}
		if each.MTLS != nil {
			all = append(all, clientAuthorities(each.MTLS))
		}
	}
	if tls := agent.Spec.Access.TLS; tls != nil {
		volume := secretVolume(a2av1alpha1.VolumeTLS, tls.SecretRef, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, caFile)
		all = append(all, credential{volume, tlsDir, []string{"--tls", tlsDir}})
	}
	if trust := agent.Spec.TrustBundle; trust != nil {
		all = append(all, bundle(a2av1alpha1.VolumeTrust, trustDir, "--trust-bundle", trust))
	}
	all = append(all, modelCredentials(agent)...)
	if proxy := egressProxy(agent, platform); proxy != nil && proxy.SecretRef != nil {
		volume := secretVolume(a2av1alpha1.VolumeEgressProxy, *proxy.SecretRef, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		all = append(all, credential{volume, proxyDir, []string{"--egress-proxy-credentials", proxyDir}})
	}
	if platform.ClientCertificate.Driver != "" && platform.RegistryURL != "" {
		all = append(all, clientCertificate(platform.ClientCertificate))
	}
	return append(all, storeCredentials(agent)...)
}

// clientCertificate returns the credential with the certificate that the sidecar presents to agents. A driver of the container storage
// interface writes it.
func clientCertificate(from ClientCertificate) credential {
	volume := corev1.Volume{Name: a2av1alpha1.VolumeClientCertificate, VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: from.Driver, ReadOnly: new(true), VolumeAttributes: from.Attributes,
	}}}
	c := credential{volume: volume, dir: clientCertificateDir, args: []string{"--client-certificate", clientCertificateDir}}
	for _, host := range from.Hosts {
		c.args = append(c.args, "--client-certificate-host", literal(host))
	}
	return c
}

// modelKey returns the credential with the API key of the model server. The file is always
// named modelKeyFile, even if the Agent names another key of the Secret.
func modelKey(reference *a2av1alpha1.ModelKeyReference) credential {
	volume := secretVolume(a2av1alpha1.VolumeModelKey, a2av1alpha1.SecretReference{Name: reference.Name})
	volume.Secret.Items = []corev1.KeyToPath{{Key: cmp.Or(reference.Key, modelKeyFile), Path: modelKeyFile}}
	return credential{volume: volume, dir: modelKeyDir, args: []string{"--model-api-key-file", modelKeyDir + "/" + modelKeyFile}}
}

// instructionsFile is the file with the instructions.
const instructionsFile = "instructions"

// modelKeyFile is the file with the API key of the model server, and the default key of
// its Secret.
const modelKeyFile = "api-key"

// bundle returns the credential with the certificates of certificate authorities. The file
// is always named caFile, even if the reference names another key.
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

// clientAuthorities returns the credential with the certificate authorities of clients. Those of further trust domains are in the same
// volume. The flags name their trust domains, so that no other configuration changes to whom a file belongs.
func clientAuthorities(m *a2av1alpha1.MTLSAuthentication) credential {
	c := bundle(a2av1alpha1.VolumeClientCA, clientCADir, "--mtls-ca-bundle", &m.CABundle)
	if len(m.Federated) == 0 {
		return c
	}
	all := &corev1.ProjectedVolumeSource{}
	add := func(reference *a2av1alpha1.CABundleReference, file string) {
		items := []corev1.KeyToPath{{Key: cmp.Or(reference.Key, caFile), Path: file}}
		object := corev1.LocalObjectReference{Name: reference.Name}
		if reference.Kind == a2av1alpha1.CABundleSecret {
			all.Sources = append(all.Sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: object, Items: items, Optional: new(true)}})
		} else {
			all.Sources = append(all.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: object, Items: items, Optional: new(true)}})
		}
	}
	add(&m.CABundle, caFile)
	for i := range m.Federated {
		file := fmt.Sprintf("federated-%d.crt", i)
		add(&m.Federated[i].CABundle, file)
		c.args = append(c.args, "--mtls-federated-ca-bundle", m.Federated[i].TrustDomain+"="+clientCADir+"/"+file)
	}
	c.volume.VolumeSource = corev1.VolumeSource{Projected: all}
	return c
}

// caFile is the file with the certificates of certificate authorities.
const caFile = "ca.crt"

// secretVolume returns a volume with the given keys of a Secret, or with all keys if none
// is given. The volume is optional: if the Secret is missing, the sidecar starts, and exits
// with a code that identifies the missing credential. With a required volume, the pod would
// wait for the Secret, and the status of the pod would not name the volume.
func secretVolume(name string, secret a2av1alpha1.SecretReference, keys ...string) corev1.Volume {
	source := &corev1.SecretVolumeSource{SecretName: secret.Name, Optional: new(true)}
	for _, key := range keys {
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: source}}
}

// redisOf returns the Redis of an Agent's task store, or nil for the memory store.
func redisOf(agent *a2av1alpha1.Agent) *a2av1alpha1.AgentRedis {
	return agent.Spec.Workload.Tasks.Store.Redis
}

// storeCredentials returns the credentials for the task store.
func storeCredentials(agent *a2av1alpha1.Agent) []credential {
	var all []credential
	redis := redisOf(agent)
	if redis == nil {
		return nil
	}
	if secret := redis.PasswordSecretRef; secret != nil {
		volume := secretVolume(a2av1alpha1.VolumeStorePassword, *secret, a2av1alpha1.RedisPasswordKey)
		all = append(all, credential{volume, passwordDir, []string{"--store-password-file", passwordDir + "/" + a2av1alpha1.RedisPasswordKey}})
	}
	if redis.TLS != nil && redis.TLS.SecretRef != nil {
		volume := secretVolume(a2av1alpha1.VolumeStoreTLS, *redis.TLS.SecretRef, a2av1alpha1.RedisCAKey, a2av1alpha1.RedisCertKey, a2av1alpha1.RedisKeyKey)
		all = append(all, credential{volume, storeTLSDir, []string{"--store-tls-dir", storeTLSDir}})
	}
	return all
}
