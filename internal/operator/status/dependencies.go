// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// failedDependency returns a failed dependency that the sidecar of a pod reports and that
// the Agent still names: the first one in the order of sidecarconfig.Dependencies. The
// message says what failed, on which field or object, and what to do.
func failedDependency(agent *a2av1alpha1.Agent, pod *corev1.Pod) (reason, message string, found bool) {
	for _, name := range sidecarconfig.Dependencies {
		for i := range pod.Status.Conditions {
			c := &pod.Status.Conditions[i]
			if string(c.Type) != a2av1alpha1.PodConditionPrefix+string(name) || c.Status != corev1.ConditionFalse {
				continue
			}
			reason, what, action := describeDependency(agent, name, sidecarconfig.HealthCause(c.Reason))
			if reason == "" {
				continue // the Agent no longer names this dependency
			}
			if sidecarconfig.HealthCause(c.Reason) == sidecarconfig.CauseProxy {
				action = proxyAction(agent)
			}
			return reason, fmt.Sprintf("%s: %s (%s); %s", what, c.Message, c.Reason, action), true
		}
	}
	return "", "", false
}

const (
	// reportGrace is how long a pod may be ready without a report of its sidecar to the registry.
	reportGrace = 2 * time.Minute
	// reportRecheck is the interval in which the operator looks whether a sidecar reports again.
	reportRecheck = 10 * time.Second
)

// unreported returns the name of a ready pod whose sidecar has not reported to the registry for reportGrace, ""
// for none, and whether it has reported before. recheckAfter is the delay after which the result may be another one,
// 0 if an event shows it.
func unreported(in Inputs) (name string, before bool, recheckAfter time.Duration) {
	if !in.Reports {
		return "", false, 0
	}
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		since, reported := readySince(pod)
		last, counted := in.Observed.LastReports[pod.UID]
		if reported && !counted || since.IsZero() || !takesCalls(pod) {
			continue
		}
		if last.After(since) {
			since = last
		}
		left := reportGrace - in.Now.Sub(since)
		if left <= 0 {
			left = reportRecheck
			if name == "" {
				name = pod.Name
				before = reported
			}
		}
		if recheckAfter == 0 || left < recheckAfter {
			recheckAfter = left
		}
	}
	return name, before, recheckAfter
}

// readySince returns the time since which a pod is ready or not ready, and whether the registry has written a report of its
// sidecar.
func readySince(pod *corev1.Pod) (since time.Time, reported bool) {
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			since = c.LastTransitionTime.Time
		case string(c.Type) == a2av1alpha1.PodConditionPrefix+string(sidecarconfig.DependencyRegistry):
			reported = true
		}
	}
	return since, reported
}

// describeDependency returns the reason, the failure and the action for a failed
// dependency of an Agent, or "" if the Agent does not have the dependency.
func describeDependency(agent *a2av1alpha1.Agent, name sidecarconfig.Dependency, cause sidecarconfig.HealthCause) (reason, what, action string) {
	spec := &agent.Spec
	switch name {
	case sidecarconfig.DependencyTaskStore:
		if redis := spec.Workload.Tasks.Store.Redis; redis != nil {
			reason, action = storeAction(redis, cause)
			return reason, "The task store is not usable", action
		}
	case sidecarconfig.DependencyModelServer, sidecarconfig.DependencyModelServerKey, sidecarconfig.DependencyInstructions:
		return describeModel(spec.Model, name, cause)
	case sidecarconfig.DependencyAgentCard:
		if spec.Model == nil && spec.Workload.Backend.Protocol == a2av1alpha1.BackendProtocolA2A {
			return a2av1alpha1.ReasonAgentCardNotServed, "The card of the agent's container is not usable",
				"let the container serve its card, or correct spec.workload.backend.a2a (cardPath, query, version)"
		}
	case sidecarconfig.DependencyTools:
		return describeTools(spec.Model, cause)
	case sidecarconfig.DependencyServingCertificate:
		if tls := spec.Access.TLS; tls != nil {
			return a2av1alpha1.ReasonTLSUnusable, "The TLS certificate is not usable", fmt.Sprintf(
				"put a valid certificate and its key into Secret %q (spec.access.tls.secretRef)", tls.SecretRef.Name)
		}
	case sidecarconfig.DependencyIssuerKeys, sidecarconfig.DependencyAPIKeys, sidecarconfig.DependencyClientCA:
		for i := range spec.Access.Authentication {
			reason, what, action = describeAuthentication(i, &spec.Access.Authentication[i], name, cause)
			if reason != "" {
				return reason, what, action
			}
		}
	case sidecarconfig.DependencyTrustBundle:
		if trust := spec.TrustBundle; trust != nil {
			return a2av1alpha1.ReasonCABundleUnusable, "The certificate authorities of servers are not usable", bundleAction("spec.trustBundle", trust)
		}
	case sidecarconfig.DependencyCardSigningKeys:
		if signing := spec.CardSigning; signing != nil {
			return a2av1alpha1.ReasonCardSigningKeyUnusable, "The card signing keys are not usable", fmt.Sprintf(
				"put valid keys into Secret %q (spec.cardSigning.secretRef)", signing.SecretRef.Name)
		}
	case sidecarconfig.DependencyRegistry:
		// It is not in reports; see unreported.
	case sidecarconfig.DependencyConfiguration:
		return a2av1alpha1.ReasonConfigurationRejected, "The sidecar rejects the current configuration",
			"correct that field of the Agent, or ask the administrator of the operator to update the image of the sidecar: it may be older than the operator"
	}
	return "", "", ""
}

// describeModel is describeDependency for the dependencies of a model, which may be nil.
func describeModel(model *a2av1alpha1.AgentModel, name sidecarconfig.Dependency, cause sidecarconfig.HealthCause) (reason, what, action string) {
	switch {
	case model == nil:
		return "", "", ""
	case name == sidecarconfig.DependencyModelServer && model.URL != "":
		return a2av1alpha1.ReasonModelServerUnreachable, "The model server is not usable", modelServerAction(model, cause)
	case name == sidecarconfig.DependencyModelServerKey && model.APIKeySecretRef != nil:
		return a2av1alpha1.ReasonModelAPIKeyUnusable, "The API key of the model server is not usable", modelKeyAction(model)
	case name == sidecarconfig.DependencyInstructions && model.InstructionsFrom != nil:
		return a2av1alpha1.ReasonInstructionsUnusable, "The instructions of the model are not usable", instructionsAction(model.InstructionsFrom)
	default:
		return "", "", ""
	}
}

func instructionsAction(from *a2av1alpha1.ConfigMapKeyReference) string {
	return fmt.Sprintf("put a text of at most 64 KiB into ConfigMap %q (spec.model.instructionsFrom) under %q", from.Name, from.Key)
}

// describeAuthentication is describeDependency for the dependencies of authentication i.
func describeAuthentication(i int, a *a2av1alpha1.Authentication, name sidecarconfig.Dependency, cause sidecarconfig.HealthCause) (reason, what, action string) {
	switch {
	case name == sidecarconfig.DependencyIssuerKeys && a.JWT != nil:
		return a2av1alpha1.ReasonIssuerKeysUnavailable, "The keys of the token issuer cannot be fetched", issuerAction(i, a.JWT, cause)
	case name == sidecarconfig.DependencyAPIKeys && a.APIKey != nil:
		return a2av1alpha1.ReasonAPIKeysUnusable, "API keys of callers are not usable", fmt.Sprintf(
			"put a key of at least 32 visible characters for each caller into Secret %q (spec.access.authentication[%d].apiKey.secretRef)",
			a.APIKey.SecretRef.Name, i)
	case name == sidecarconfig.DependencyClientCA && a.MTLS != nil:
		return a2av1alpha1.ReasonCABundleUnusable, "The certificate authorities of clients are not usable",
			bundleAction(fmt.Sprintf("spec.access.authentication[%d].mtls.caBundle", i), &a.MTLS.CABundle) + federatedBundles(i, a.MTLS)
	default:
		return "", "", ""
	}
}

// storeAction returns the reason and the action for a failed task store.
func storeAction(redis *a2av1alpha1.AgentRedis, cause sidecarconfig.HealthCause) (reason, action string) {
	const field = "spec.workload.tasks.store.redis"
	password := fmt.Sprintf("set %s.passwordSecretRef to a Secret with the password under %q", field, a2av1alpha1.RedisPasswordKey)
	if secret := redis.PasswordSecretRef; secret != nil {
		password = fmt.Sprintf("correct %s.username, or key %q of Secret %q (%s.passwordSecretRef)",
			field, a2av1alpha1.RedisPasswordKey, secret.Name, field)
	}
	secrets := field + ".tls"
	if redis.TLS != nil && redis.TLS.SecretRef != nil {
		secrets = fmt.Sprintf("%s.tls, or Secret %q of its secretRef", field, redis.TLS.SecretRef.Name)
	}
	switch cause {
	case sidecarconfig.CauseAuthentication:
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, password
	case sidecarconfig.CausePermission:
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "grant the user the commands, keys and channels that https://github.com/a2a-operator/a2a-operator/blob/main/docs/explanation/tasks.md lists"
	case sidecarconfig.CauseMissing:
		if redis.PasswordSecretRef != nil {
			return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, fmt.Sprintf("create Secret %q with key %q, or correct %s.passwordSecretRef",
				redis.PasswordSecretRef.Name, a2av1alpha1.RedisPasswordKey, field)
		}
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "correct " + secrets
	case sidecarconfig.CauseTLS:
		return a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "correct " + secrets
	case sidecarconfig.CauseFull:
		return a2av1alpha1.ReasonTaskStoreUnavailable, "raise maxmemory of the server, or lower " + field + ".maxBytes of the agents that share it"
	case sidecarconfig.CauseNotServing, sidecarconfig.CauseInvalid:
		return a2av1alpha1.ReasonTaskStoreUnavailable, "check the server, or correct " + field + ".addresses"
	default:
		return a2av1alpha1.ReasonTaskStoreUnavailable, "correct " + field +
			".addresses, or check that the server runs and that network policies allow the connection"
	}
}

// proxyAction returns the action if the proxy for public servers refuses or fails.
func proxyAction(agent *a2av1alpha1.Agent) string {
	if e := agent.Spec.Egress; e != nil && e.Proxy != nil {
		if secret := e.Proxy.SecretRef; secret != nil {
			return fmt.Sprintf("correct spec.egress.proxy or username and password in Secret %q (spec.egress.proxy.secretRef), or check the proxy", secret.Name)
		}
		return "correct spec.egress.proxy, whose secretRef names the credential, or check the proxy"
	}
	return "set spec.egress.proxy, or ask the administrator of the operator to correct the chart's egress.proxy (--egress-proxy-url)"
}

// modelServerAction returns the action for a failed external model server.
func modelServerAction(model *a2av1alpha1.AgentModel, cause sidecarconfig.HealthCause) string {
	const field = "spec.model"
	switch cause {
	case sidecarconfig.CauseAuthentication:
		if model.APIKeySecretRef == nil {
			return "set " + field + ".apiKeySecretRef to a Secret with the API key"
		}
		return modelKeyAction(model)
	case sidecarconfig.CauseTLS:
		return "correct " + field + ".url, or add the certificate authority of the server to spec.trustBundle"
	case sidecarconfig.CauseInvalid:
		return "correct " + field + ".url or " + field + ".name"
	default:
		return "correct " + field + ".url, or check that the server runs and that spec.networkPolicy.egress allows the connection"
	}
}

func modelKeyAction(model *a2av1alpha1.AgentModel) string {
	return fmt.Sprintf("correct key %q of Secret %q (spec.model.apiKeySecretRef)",
		cmp.Or(model.APIKeySecretRef.Key, "api-key"), model.APIKeySecretRef.Name)
}

// issuerAction returns the action if the sidecar cannot fetch the keys of an issuer.
func issuerAction(i int, jwt *a2av1alpha1.JWTAuthentication, cause sidecarconfig.HealthCause) string {
	field := fmt.Sprintf("spec.access.authentication[%d].jwt.jwksURL", i)
	if jwt.JWKSURL == "" {
		field = fmt.Sprintf("spec.access.authentication[%d].jwt.issuer, or set jwksURL of the same entry", i)
	}
	if cause == sidecarconfig.CauseTLS {
		return "correct " + field + ", or add the certificate authority of the server to spec.trustBundle"
	}
	return "correct " + field + ", or check that the issuer serves its keys and that spec.networkPolicy.egress allows the connection"
}

func bundleAction(field string, bundle *a2av1alpha1.CABundleReference) string {
	return fmt.Sprintf("put PEM certificates, and nothing else, under %q of %s %q (%s)",
		cmp.Or(bundle.Key, "ca.crt"), cmp.Or(bundle.Kind, a2av1alpha1.CABundleConfigMap), bundle.Name, field)
}

// federatedBundles continues the text about the bundle of the first trust domain with those of the others, "" for none.
func federatedBundles(i int, m *a2av1alpha1.MTLSAuthentication) string {
	if len(m.Federated) == 0 {
		return ""
	}
	var all []string
	for j := range m.Federated {
		reference := &m.Federated[j].CABundle
		all = append(all, fmt.Sprintf("%q of %s %q (federated[%d].caBundle)",
			cmp.Or(reference.Key, "ca.crt"), cmp.Or(reference.Kind, a2av1alpha1.CABundleConfigMap), reference.Name, j))
	}
	return fmt.Sprintf(", and those of the other trust domains in spec.access.authentication[%d].mtls under %s", i, strings.Join(all, ", "))
}

// dependencyFailed returns the diagnosis of a pod that is not ready because of a
// dependency.
func dependencyFailed(agent *a2av1alpha1.Agent, pod *corev1.Pod) (diagnosis, bool) {
	reason, message, found := failedDependency(agent, pod)
	return diagnosis{reason: reason, message: message, failing: true}, found
}

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
				lack = bundleLacks("clients", fmt.Sprintf("spec.access.authentication[%d].mtls.caBundle", i), &each.MTLS.CABundle) + federatedBundles(i, each.MTLS)
			}
		}
	case sidecarconfig.ExitTrust:
		if trust := spec.TrustBundle; trust != nil {
			reason = a2av1alpha1.ReasonCABundleUnusable
			lack = bundleLacks("servers", "spec.trustBundle", trust)
		}
	case sidecarconfig.ExitModelKey, sidecarconfig.ExitInstructions:
		reason, lack = modelLacks(spec.Model, ended.ExitCode)
	}
	if reason == "" {
		return diagnosis{}, false
	}
	why := fmt.Sprintf("kubectl logs -n %s %s -c %s --previous shows the error", c.pod.Namespace, c.pod.Name, c.name)
	if said := sidecarconfig.OneLine(ended.Message); said != "" {
		why = "the sidecar reported: " + said
	}
	return failure(reason, "%s; %s", lack, why), true
}

// modelLacks returns the reason and the message for the unusable API key or instructions of a model, which may be nil.
func modelLacks(model *a2av1alpha1.AgentModel, exitCode int32) (reason, lack string) {
	if exitCode == sidecarconfig.ExitModelKey {
		return modelKeyLacks(model)
	}
	if model == nil || model.InstructionsFrom == nil {
		return "", ""
	}
	return a2av1alpha1.ReasonInstructionsUnusable, "The sidecar has no usable instructions of the model; " + instructionsAction(model.InstructionsFrom)
}

// modelKeyLacks returns the reason and the message for an unusable API key of the model
// server.
func modelKeyLacks(model *a2av1alpha1.AgentModel) (reason, lack string) {
	if model == nil || model.APIKeySecretRef == nil {
		return "", ""
	}
	return a2av1alpha1.ReasonModelAPIKeyUnusable, fmt.Sprintf(
		"The sidecar has no usable API key for the model server; put one key of visible ASCII characters "+
			"into Secret %q (spec.model.apiKeySecretRef) under %q", model.APIKeySecretRef.Name, cmp.Or(model.APIKeySecretRef.Key, "api-key"))
}

func bundleLacks(whom, field string, bundle *a2av1alpha1.CABundleReference) string {
	return fmt.Sprintf("The sidecar has no usable certificate authority to verify %s; put PEM certificates, and nothing else, into %s %q (%s) under %q",
		whom, cmp.Or(bundle.Kind, a2av1alpha1.CABundleConfigMap), bundle.Name, field, cmp.Or(bundle.Key, "ca.crt"))
}
