// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// credentialUnusable says what a sidecar lacks that ended with an exit code.
// One that the Agent does not name any more is no news of it.
func credentialUnusable(in Inputs, c container, ended *corev1.ContainerStateTerminated) (diagnosis, bool) {
	spec := &in.Observed.Agent.Spec
	var reason, lack string
	switch ended.ExitCode {
	case sidecarconfig.ExitCardKey:
		if signing := spec.CardSigning; signing != nil {
			reason = a2av1alpha1.ReasonCardSigningKeyUnusable
			lack = fmt.Sprintf("The sidecar has no key to sign the card with; Secret %q, which spec.cardSigning.secretRef names, must hold under %q "+
				"a private key without a password: EC (P-256 or P-384), Ed25519 or RSA", signing.SecretRef.Name, a2av1alpha1.CardSigningKey)
		}
	case sidecarconfig.ExitAPIKeys:
		for i, each := range spec.Access.Authentication {
			if each.APIKey != nil {
				reason = a2av1alpha1.ReasonAPIKeysUnusable
				lack = fmt.Sprintf("The sidecar has no API key to know a caller by; Secret %q, which spec.access.authentication[%d].apiKey.secretRef names, "+
					"must hold for each caller, under its name, a key of at least 32 visible characters", each.APIKey.SecretRef.Name, i)
			}
		}
	case sidecarconfig.ExitTLS:
		if tls := spec.Access.TLS; tls != nil {
			reason = a2av1alpha1.ReasonTLSUnusable
			lack = fmt.Sprintf("The sidecar has no certificate to serve with; Secret %q, which spec.access.tls.secretRef names, must hold "+
				"a PEM certificate that is valid now under tls.crt, and its private key, without a password, under tls.key", tls.SecretRef.Name)
		}
	case sidecarconfig.ExitClientCA:
		for i, each := range spec.Access.Authentication {
			if each.MTLS != nil {
				reason = a2av1alpha1.ReasonCABundleUnusable
				lack = bundleLacks("clients", fmt.Sprintf("spec.access.authentication[%d].mtls.caBundle", i), &each.MTLS.CABundle)
			}
		}
	case sidecarconfig.ExitTrust:
		if trust := spec.TrustBundle; trust != nil {
			reason = a2av1alpha1.ReasonCABundleUnusable
			lack = bundleLacks("servers", "spec.trustBundle", trust)
		}
	case sidecarconfig.ExitChatKey:
		reason, lack = chatKeyLacks(spec.Workload.Backend.Chat)
	}
	if reason == "" {
		return diagnosis{}, false
	}
	why := fmt.Sprintf("kubectl logs -n %s %s -c %s --previous shows what is wrong with it", c.pod.Namespace, c.pod.Name, c.name)
	if said := sidecarconfig.OneLine(ended.Message); said != "" {
		why = "the sidecar said: " + said
	}
	return diagnosis{reason: reason, message: lack + "; " + why, failing: true}, true
}

// chatKeyLacks is about the API key of the model server.
func chatKeyLacks(chat *a2av1alpha1.AgentChat) (reason, lack string) {
	if chat == nil || chat.APIKeySecretRef == nil {
		return "", ""
	}
	return a2av1alpha1.ReasonChatAPIKeyUnusable, fmt.Sprintf(
		"The sidecar has no API key for the model server; Secret %q, which spec.workload.backend.chat.apiKeySecretRef names, "+
			"must hold under %q one key of visible ASCII characters", chat.APIKeySecretRef.Name, cmp.Or(chat.APIKeySecretRef.Key, "api-key"))
}

func bundleLacks(whom, field string, bundle *a2av1alpha1.CABundleReference) string {
	return fmt.Sprintf("The sidecar has no authority to verify %s by; %s %q, which %s names, must hold PEM certificates, and nothing else, under %q",
		whom, cmp.Or(bundle.Kind, a2av1alpha1.CABundleConfigMap), bundle.Name, field, cmp.Or(bundle.Key, "ca.crt"))
}
