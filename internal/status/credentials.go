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

// credentialUnusable returns the diagnosis of a sidecar that exited because a mounted
// credential is unusable. The exit code identifies the credential. credentialUnusable
// returns false if the Agent no longer names the credential.
func credentialUnusable(in Inputs, c container, ended *corev1.ContainerStateTerminated) (diagnosis, bool) {
	spec := &in.Observed.Agent.Spec
	var reason, lack string
	switch ended.ExitCode {
	case sidecarconfig.ExitCardKey:
		if signing := spec.CardSigning; signing != nil {
			reason = a2av1alpha1.ReasonCardSigningKeyUnusable
			lack = fmt.Sprintf("The sidecar has no usable key to sign the card; put a private key without a password (EC P-256 or P-384, Ed25519, RSA) "+
				"into Secret %q (spec.cardSigning.secretRef) under %q", signing.SecretRef.Name, a2av1alpha1.CardSigningKey)
		}
	case sidecarconfig.ExitAPIKeys:
		for i, each := range spec.Access.Authentication {
			if each.APIKey != nil {
				reason = a2av1alpha1.ReasonAPIKeysUnusable
				lack = fmt.Sprintf("The sidecar has no usable API key of a caller; put a key of at least 32 visible characters for each caller, under the name of the caller, "+
					"into Secret %q (spec.access.authentication[%d].apiKey.secretRef)", each.APIKey.SecretRef.Name, i)
			}
		}
	case sidecarconfig.ExitTLS:
		if tls := spec.Access.TLS; tls != nil {
			reason = a2av1alpha1.ReasonTLSUnusable
			lack = fmt.Sprintf("The sidecar has no usable TLS certificate; put a valid PEM certificate under tls.crt, and its private key without a password under tls.key, "+
				"into Secret %q (spec.access.tls.secretRef)", tls.SecretRef.Name)
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
	why := fmt.Sprintf("kubectl logs -n %s %s -c %s --previous shows the error", c.pod.Namespace, c.pod.Name, c.name)
	if said := sidecarconfig.OneLine(ended.Message); said != "" {
		why = "the sidecar reported: " + said
	}
	return diagnosis{reason: reason, message: lack + "; " + why, failing: true}, true
}

// chatKeyLacks returns the reason and the message for an unusable API key of the model
// server.
func chatKeyLacks(chat *a2av1alpha1.AgentChat) (reason, lack string) {
	if chat == nil || chat.APIKeySecretRef == nil {
		return "", ""
	}
	return a2av1alpha1.ReasonChatAPIKeyUnusable, fmt.Sprintf(
		"The sidecar has no usable API key for the model server; put one key of visible ASCII characters "+
			"into Secret %q (spec.workload.backend.chat.apiKeySecretRef) under %q", chat.APIKeySecretRef.Name, cmp.Or(chat.APIKeySecretRef.Key, "api-key"))
}

func bundleLacks(whom, field string, bundle *a2av1alpha1.CABundleReference) string {
	return fmt.Sprintf("The sidecar has no usable certificate authority to verify %s; put PEM certificates, and nothing else, into %s %q (%s) under %q",
		whom, cmp.Or(bundle.Kind, a2av1alpha1.CABundleConfigMap), bundle.Name, field, cmp.Or(bundle.Key, "ca.crt"))
}
