// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// failedDependency returns the most important dependency of which the sidecar
// of a pod reports that it cannot be used, and that the Agent still names. The
// message says what failed, on which field or object, and what to do.
func failedDependency(agent *a2av1alpha1.Agent, pod *corev1.Pod) (reason, message string, found bool) {
	for _, name := range sidecarconfig.Dependencies {
		for i := range pod.Status.Conditions {
			c := &pod.Status.Conditions[i]
			if string(c.Type) != a2av1alpha1.PodConditionPrefix+string(name) || c.Status != corev1.ConditionFalse {
				continue
			}
			reason, what, cure := describeDependency(agent, name, sidecarconfig.HealthCause(c.Reason))
			if reason == "" {
				continue // the Agent does not name it any more
			}
			return reason, fmt.Sprintf("%s: %s (%s); %s", what, c.Message, c.Reason, cure), true
		}
	}
	return "", "", false
}

// describeDependency returns the reason, the words and the cure for a dependency
// of an Agent, and "" for one that the Agent does not have.
func describeDependency(agent *a2av1alpha1.Agent, name sidecarconfig.Dependency, cause sidecarconfig.HealthCause) (reason, what, cure string) {
	spec := &agent.Spec
	switch name {
	case sidecarconfig.DependencyTaskStore:
		if redis := spec.Workload.Tasks.Store.Redis; redis != nil {
			reason, cure = storeCure(redis, cause)
			return reason, "The task store cannot be used", cure
		}
	case sidecarconfig.DependencyModelServer, sidecarconfig.DependencyModelServerKey, sidecarconfig.DependencyAgentCard:
		return describeBackend(&spec.Workload.Backend, name, cause)
	case sidecarconfig.DependencyServingCertificate:
		if tls := spec.Access.TLS; tls != nil {
			return a2av1alpha1.ReasonTLSUnusable, "The certificate cannot be used", fmt.Sprintf(
				"put a certificate that is valid now, and its key, into Secret %q, which spec.access.tls.secretRef names", tls.SecretRef.Name)
		}
	case sidecarconfig.DependencyIssuerKeys, sidecarconfig.DependencyAPIKeys, sidecarconfig.DependencyClientCA:
		for i := range spec.Access.Authentication {
			if reason, what, cure = describeAuthentication(i, &spec.Access.Authentication[i], name, cause); reason != "" {
				return reason, what, cure
			}
		}
	case sidecarconfig.DependencyTrustBundle:
		if trust := spec.TrustBundle; trust != nil {
			return a2av1alpha1.ReasonCABundleUnusable, "The authorities of servers cannot be used", bundleCure("spec.trustBundle", trust)
		}
	case sidecarconfig.DependencyCardSigningKeys:
		if signing := spec.CardSigning; signing != nil {
			return a2av1alpha1.ReasonCardSigningKeyUnusable, "The keys that sign the card cannot be used", fmt.Sprintf(
				"correct the keys in Secret %q, which spec.cardSigning.secretRef names", signing.SecretRef.Name)
		}
	case sidecarconfig.DependencyConfiguration:
		return a2av1alpha1.ReasonConfigurationRejected, "The sidecar does not take the current configuration",
			"correct what it names of the Agent, or ask who installed the operator"
	}
	return "", "", ""
}

// describeBackend is describeDependency for what turns are run with.
func describeBackend(b *a2av1alpha1.AgentBackend, name sidecarconfig.Dependency, cause sidecarconfig.HealthCause) (reason, what, cure string) {
	switch {
	case name == sidecarconfig.DependencyModelServer && b.Chat != nil && b.Chat.URL != "":
		return a2av1alpha1.ReasonModelServerUnreachable, "The model server cannot be used", modelServerCure(b.Chat, cause)
	case name == sidecarconfig.DependencyModelServerKey && b.Chat != nil && b.Chat.APIKeySecretRef != nil:
		return a2av1alpha1.ReasonChatAPIKeyUnusable, "The API key of the model server cannot be used", chatKeyCure(b.Chat)
	case name == sidecarconfig.DependencyAgentCard && b.Protocol == a2av1alpha1.BackendProtocolA2A:
		return a2av1alpha1.ReasonAgentCardNotServed, "The container speaks A2A, and its card cannot be used",
			"have it serve its card, or correct spec.workload.backend.a2a (cardPath, query, version)"
	default:
		return "", "", ""
	}
}

// describeAuthentication is describeDependency for what an authentication needs.
func describeAuthentication(i int, a *a2av1alpha1.Authentication, name sidecarconfig.Dependency, cause sidecarconfig.HealthCause) (reason, what, cure string) {
	switch {
	case name == sidecarconfig.DependencyIssuerKeys && a.JWT != nil:
		return a2av1alpha1.ReasonIssuerKeysUnavailable, "The keys of the issuer of tokens cannot be fetched", issuerCure(i, a.JWT, cause)
	case name == sidecarconfig.DependencyAPIKeys && a.APIKey != nil:
		return a2av1alpha1.ReasonAPIKeysUnusable, "API keys cannot be used", fmt.Sprintf(
			"put a key of at least 32 visible characters for each caller into Secret %q, which spec.access.authentication[%d].apiKey.secretRef names",
			a.APIKey.SecretRef.Name, i)
	case name == sidecarconfig.DependencyClientCA && a.MTLS != nil:
		return a2av1alpha1.ReasonCABundleUnusable, "The authorities of clients cannot be used",
			bundleCure(fmt.Sprintf("spec.access.authentication[%d].mtls.caBundle", i), &a.MTLS.CABundle)
	default:
		return "", "", ""
	}
}

// storeCure returns the reason and the cure for a task store.
func storeCure(redis *a2av1alpha1.AgentRedis, cause sidecarconfig.HealthCause) (reason, cure string) {
	const field = "spec.workload.tasks.store.redis"
	password := fmt.Sprintf("set %s.passwordSecretRef to a Secret with the password under %q", field, a2av1alpha1.RedisPasswordKey)
	if secret := redis.PasswordSecretRef; secret != nil {
		password = fmt.Sprintf("correct %s.username, or key %q of Secret %q, which %s.passwordSecretRef names",
			field, a2av1alpha1.RedisPasswordKey, secret.Name, field)
	}
	secrets := field + ".tls"
	if redis.TLS != nil && redis.TLS.SecretRef != nil {
		secrets = fmt.Sprintf("%s.tls, or Secret %q, which its secretRef names", field, redis.TLS.SecretRef.Name)
	}
	switch cause {
	case sidecarconfig.CauseAuthentication:
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, password
	case sidecarconfig.CausePermission:
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "let the user run all commands but those of +@admin on keys and channels a2a:*"
	case sidecarconfig.CauseMissing:
		if redis.PasswordSecretRef != nil {
			return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, fmt.Sprintf("create Secret %q with key %q, or correct %s.passwordSecretRef",
				redis.PasswordSecretRef.Name, a2av1alpha1.RedisPasswordKey, field)
		}
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "correct " + secrets
	case sidecarconfig.CauseTLS:
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "correct " + secrets
	case sidecarconfig.CauseNotServing, sidecarconfig.CauseInvalid:
		return a2av1alpha1.ReasonTaskStoreUnavailable, "look into the server, or correct " + field + ".addresses"
	default:
		return a2av1alpha1.ReasonTaskStoreUnavailable, "correct " + field +
			".addresses, or see whether the server runs and network policies admit the connection"
	}
}

// modelServerCure is that of a model server elsewhere.
func modelServerCure(chat *a2av1alpha1.AgentChat, cause sidecarconfig.HealthCause) string {
	const field = "spec.workload.backend.chat"
	switch cause {
	case sidecarconfig.CauseAuthentication:
		if chat.APIKeySecretRef == nil {
			return "set " + field + ".apiKeySecretRef to a Secret with the API key"
		}
		return chatKeyCure(chat)
	case sidecarconfig.CauseTLS:
		return "correct " + field + ".url, or name the authority of the server in spec.trustBundle"
	case sidecarconfig.CauseInvalid:
		return "correct " + field + ".url"
	default:
		return "correct " + field + ".url, or see whether the server runs and spec.networkPolicy.egress admits the connection"
	}
}

func chatKeyCure(chat *a2av1alpha1.AgentChat) string {
	return fmt.Sprintf("correct key %q of Secret %q, which spec.workload.backend.chat.apiKeySecretRef names",
		cmp.Or(chat.APIKeySecretRef.Key, "api-key"), chat.APIKeySecretRef.Name)
}

// issuerCure is that of an issuer's keys.
func issuerCure(i int, jwt *a2av1alpha1.JWTAuthentication, cause sidecarconfig.HealthCause) string {
	field := fmt.Sprintf("spec.access.authentication[%d].jwt.jwksURL", i)
	if jwt.JWKSURL == "" {
		field = fmt.Sprintf("spec.access.authentication[%d].jwt.issuer, or set jwksURL beside it", i)
	}
	if cause == sidecarconfig.CauseTLS {
		return "correct " + field + ", or name the authority of the server in spec.trustBundle"
	}
	return "correct " + field + ", or see whether the issuer serves its keys"
}

func bundleCure(field string, bundle *a2av1alpha1.CABundleReference) string {
	return fmt.Sprintf("put PEM certificates, and nothing else, under %q of %s %q, which %s names",
		cmp.Or(bundle.Key, "ca.crt"), cmp.Or(bundle.Kind, a2av1alpha1.CABundleConfigMap), bundle.Name, field)
}

// dependencyFailed is the diagnosis of a pod that is not ready.
func dependencyFailed(agent *a2av1alpha1.Agent, pod *corev1.Pod) (diagnosis, bool) {
	reason, message, found := failedDependency(agent, pod)
	return diagnosis{reason: reason, message: message, failing: true}, found
}

// observeDependencies finds what a pod lacks that takes calls all the same. Of
// several pods it is the first by name, so that it stays the same.
func (r *rollout) observeDependencies(in Inputs) {
	var first string
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if !takesCalls(pod) || r.lackReason != "" && pod.Name > first {
			continue
		}
		if reason, message, found := failedDependency(in.Observed.Agent, pod); found {
			first, r.lackReason, r.lackMessage = pod.Name, reason, message
		}
	}
}

// servesWithout keeps a condition true, with the reason of a dependency that a
// pod that takes calls has lost, or that cannot be replaced.
func servesWithout(message string) check {
	return func(_ Inputs, f *facts) (verdict, bool) {
		r := f.rollout
		return verdict{metav1.ConditionTrue, r.lackReason, message + ". " + r.lackMessage}, r.lackReason != ""
	}
}
