// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// lacking adds the report of a sidecar about an unusable dependency to a pod.
func lacking(p corev1.Pod, d sidecarconfig.Dependency, cause sidecarconfig.HealthCause, message string) corev1.Pod {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodConditionType("a2a-operator.dev/" + string(d)), Status: corev1.ConditionFalse, Reason: string(cause), Message: message,
	})
	return p
}

// dependent gives an Agent every kind of dependency.
func dependent(in *Inputs) {
	spec := &in.Observed.Agent.Spec
	spec.Workload.Tasks.Store.Redis = &a2av1alpha1.AgentRedis{
		Addresses: []string{"redis:6379"}, PasswordSecretRef: &a2av1alpha1.SecretReference{Name: "redis-password"},
		TLS: &a2av1alpha1.RedisTLS{SecretRef: &a2av1alpha1.SecretReference{Name: "redis-tls"}},
	}
	spec.Workload.Backend.Protocol = a2av1alpha1.BackendProtocolA2A
	spec.Model = &a2av1alpha1.AgentModel{
		URL: "http://vllm.models.svc:8000/v1", APIKeySecretRef: &a2av1alpha1.ModelKeyReference{Name: "model-key"},
		InstructionsFrom: &a2av1alpha1.ConfigMapKeyReference{Name: "prompts", Key: "oncall"},
		Tools:            []a2av1alpha1.ModelTool{{MCP: &a2av1alpha1.MCPTool{URL: "http://mcp.tools/mcp", Required: true}}},
	}
	spec.CardSigning = &a2av1alpha1.AgentCardSigning{SecretRef: a2av1alpha1.SecretReference{Name: "card-key"}}
	spec.Access.TLS = &a2av1alpha1.AccessTLS{SecretRef: a2av1alpha1.SecretReference{Name: "cert"}}
	spec.TrustBundle = &a2av1alpha1.CABundleReference{Name: "trust"}
	spec.Access.Authentication = []a2av1alpha1.Authentication{
		{Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{Issuer: "https://issuer", JWKSURL: "https://issuer/keys"}},
		{Type: a2av1alpha1.AuthenticationAPIKey, APIKey: &a2av1alpha1.APIKeyAuthentication{SecretRef: a2av1alpha1.SecretReference{Name: "keys"}}},
		{Type: a2av1alpha1.AuthenticationMTLS, MTLS: &a2av1alpha1.MTLSAuthentication{
			CABundle:  a2av1alpha1.CABundleReference{Name: "clients"},
			Federated: []a2av1alpha1.FederatedTrustDomain{{TrustDomain: "example.net", CABundle: a2av1alpha1.CABundleReference{Kind: a2av1alpha1.CABundleSecret, Name: "partners", Key: "p.crt"}}},
		}},
	}
}

// A condition about an unusable dependency has a reason, the message of the sidecar, the field or object, and
// the fix. The condition is False if no pod is ready, and True if pods serve calls.
func TestDependencies(t *testing.T) {
	for name, test := range map[string]struct {
		dependency sidecarconfig.Dependency
		cause      sidecarconfig.HealthCause
		reason     string
		names      []string
	}{
		"address":            {sidecarconfig.DependencyTaskStore, sidecarconfig.CauseRefused, "TaskStoreUnavailable", []string{"spec.workload.tasks.store.redis.addresses"}},
		"name":               {sidecarconfig.DependencyTaskStore, sidecarconfig.CauseNameResolution, "TaskStoreUnavailable", []string{"spec.workload.tasks.store.redis.addresses"}},
		"a full server":      {sidecarconfig.DependencyTaskStore, sidecarconfig.CauseFull, "TaskStoreUnavailable", []string{"raise maxmemory", "spec.workload.tasks.store.redis.maxBytes"}},
		"a starting server":  {sidecarconfig.DependencyTaskStore, sidecarconfig.CauseNotServing, "TaskStoreUnavailable", []string{"check the server"}},
		"password":           {sidecarconfig.DependencyTaskStore, sidecarconfig.CauseAuthentication, "TaskStoreCredentialsUnusable", []string{`key "password" of Secret "redis-password"`, "passwordSecretRef"}},
		"missing Secret":     {sidecarconfig.DependencyTaskStore, sidecarconfig.CauseMissing, "TaskStoreCredentialsUnusable", []string{`create Secret "redis-password" with key "password"`}},
		"rights":             {sidecarconfig.DependencyTaskStore, sidecarconfig.CausePermission, "TaskStoreCredentialsUnusable", []string{"docs/explanation/tasks.md"}},
		"TLS of the store":   {sidecarconfig.DependencyTaskStore, sidecarconfig.CauseTLS, "TaskStoreCredentialsUnusable", []string{"spec.workload.tasks.store.redis.tls", `Secret "redis-tls"`}},
		"model server":       {sidecarconfig.DependencyModelServer, sidecarconfig.CauseRefused, "ModelServerUnreachable", []string{"spec.model.url"}},
		"key of the model":   {sidecarconfig.DependencyModelServer, sidecarconfig.CauseAuthentication, "ModelServerUnreachable", []string{`key "api-key" of Secret "model-key" (spec.model.apiKeySecretRef)`}},
		"proxy of the model": {sidecarconfig.DependencyModelServer, sidecarconfig.CauseProxy, "ModelServerUnreachable", []string{"set spec.egress.proxy", "--egress-proxy-url"}},
		"TLS of the model":   {sidecarconfig.DependencyModelServer, sidecarconfig.CauseTLS, "ModelServerUnreachable", []string{"spec.trustBundle"}},
		"a key that is kept": {sidecarconfig.DependencyModelServerKey, sidecarconfig.CauseInvalid, "ModelAPIKeyUnusable", []string{`Secret "model-key"`}},
		"instructions":       {sidecarconfig.DependencyInstructions, sidecarconfig.CauseMissing, "InstructionsUnusable", []string{`ConfigMap "prompts" (spec.model.instructionsFrom) under "oncall"`}},
		"required tools":     {sidecarconfig.DependencyTools, sidecarconfig.CauseRefused, "MCPServerUnreachable", []string{"spec.model.tools[].mcp.url"}},
		"key of the tools":   {sidecarconfig.DependencyTools, sidecarconfig.CauseAuthentication, "MCPServerUnauthorized", []string{"spec.model.tools[].mcp.headersFrom"}},
		"card of the agent":  {sidecarconfig.DependencyAgentCard, sidecarconfig.CauseInvalid, "AgentCardNotServed", []string{"spec.workload.backend.a2a"}},
		"certificate":        {sidecarconfig.DependencyServingCertificate, sidecarconfig.CauseExpired, "TLSUnusable", []string{`Secret "cert" (spec.access.tls.secretRef)`}},
		"issuer":             {sidecarconfig.DependencyIssuerKeys, sidecarconfig.CauseHTTPStatus, "IssuerKeysUnavailable", []string{"spec.access.authentication[0].jwt.jwksURL"}},
		"TLS of the issuer":  {sidecarconfig.DependencyIssuerKeys, sidecarconfig.CauseTLS, "IssuerKeysUnavailable", []string{"spec.trustBundle"}},
		"API keys":           {sidecarconfig.DependencyAPIKeys, sidecarconfig.CauseMissing, "APIKeysUnusable", []string{`Secret "keys" (spec.access.authentication[1].apiKey.secretRef)`}},
		"authorities":        {sidecarconfig.DependencyClientCA, sidecarconfig.CauseInvalid, "CABundleUnusable", []string{`"ca.crt" of ConfigMap "clients" (spec.access.authentication[2].mtls.caBundle)`, `"p.crt" of Secret "partners" (federated[0].caBundle)`}},
		"trust":              {sidecarconfig.DependencyTrustBundle, sidecarconfig.CauseMissing, "CABundleUnusable", []string{`ConfigMap "trust" (spec.trustBundle)`}},
		"card keys":          {sidecarconfig.DependencyCardSigningKeys, sidecarconfig.CauseMissing, "CardSigningKeyUnusable", []string{`Secret "card-key"`}},
		"configuration":      {sidecarconfig.DependencyConfiguration, sidecarconfig.CauseInvalid, "ConfigurationRejected", []string{"the administrator of the operator"}},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(in Inputs, status string, conditions ...string) {
				t.Helper()
				result := Agent(in)
				for _, condition := range conditions {
					c := meta.FindStatusCondition(result.Status.Conditions, condition)
					if string(c.Status)+" "+c.Reason != status+" "+test.reason {
						t.Errorf("%s = %s %s, want %s %s", condition, c.Status, c.Reason, status, test.reason)
					}
					for _, part := range append(test.names, "what the sidecar says ("+string(test.cause)+")") {
						if !strings.Contains(c.Message, part) {
							t.Errorf("%s says %q, want %q in it", condition, c.Message, part)
						}
					}
				}
				checkDocumented(t, result.Status.Conditions)
				if result.RecheckAfter != 0 {
					t.Errorf("RecheckAfter = %s", result.RecheckAfter)
				}
			}
			lacks := func(p corev1.Pod) corev1.Pod { return lacking(p, test.dependency, test.cause, "what the sidecar says") }
			running := runningSince(now.Add(-time.Hour))
			dependent := func(in *Inputs) {
				dependent(in)
				if test.dependency == sidecarconfig.DependencyAgentCard {
					in.Observed.Agent.Spec.Model = nil
				}
			}
			check(healthy(dependent, onlyPod(lacks(pod("echo-2", false, running)))), "False", "Available", "Ready")
			// A pod of the current spec lacks the dependency, so the rollout stops. The pod of the earlier spec
			// still serves calls.
			stopped := healthy(dependent, rollingOutTo(lacks(pod("echo-2", false, running))))
			check(stopped, "True", "Available")
			check(stopped, "False", "Ready")
			// The ready pod has lost the dependency, and still serves calls.
			check(healthy(dependent, func(in *Inputs) { in.Observed.Pods[0] = lacks(in.Observed.Pods[0]) }), "True", "Available", "Ready")
		})
	}
}

func TestIgnoredDependencies(t *testing.T) {
	for name, in := range map[string]Inputs{
		"a dependency that the Agent does not have any more": healthy(func(in *Inputs) {
			in.Observed.Pods[0] = lacking(in.Observed.Pods[0], sidecarconfig.DependencyTaskStore, sidecarconfig.CauseRefused, "x")
		}),
		"a dependency that has recovered": healthy(dependent, func(in *Inputs) {
			p := lacking(in.Observed.Pods[0], sidecarconfig.DependencyTaskStore, sidecarconfig.CauseHealthy, "")
			p.Status.Conditions[1].Status = corev1.ConditionTrue
			in.Observed.Pods[0] = p
		}),
		"a dependency of a terminating pod": healthy(dependent, func(in *Inputs) {
			p := lacking(pod("echo-0", true, runningSince(now)), sidecarconfig.DependencyTaskStore, sidecarconfig.CauseRefused, "x")
			p.DeletionTimestamp = &in.Observed.Agent.CreationTimestamp
			p.DeletionTimestamp.Time = now
			in.Observed.Pods = append(in.Observed.Pods, p)
		}),
	} {
		c := meta.FindStatusCondition(Agent(in).Status.Conditions, a2av1alpha1.ConditionReady)
		if c.Reason != a2av1alpha1.ReasonReady {
			t.Errorf("%s: Ready = %s %s: %s", name, c.Status, c.Reason, c.Message)
		}
	}
}

// TestTerminationMessageIsPassedOn searches the condition for the termination message of a sidecar.
func TestTerminationMessageIsPassedOn(t *testing.T) {
	p := ending(sidecarconfig.ExitTLS, pod("echo-1", false, waiting("PodInitializing", "")))
	p.Status.InitContainerStatuses[0].LastTerminationState.Terminated.Message = "tls.crt expired on 2026-01-02T03:04:05Z\n"
	c := meta.FindStatusCondition(Agent(healthy(dependent, onlyPod(p))).Status.Conditions, a2av1alpha1.ConditionReady)
	if c.Reason != a2av1alpha1.ReasonTLSUnusable || !strings.Contains(c.Message, "the sidecar reported: tls.crt expired on 2026-01-02T03:04:05Z") {
		t.Errorf("Ready = %s: %s", c.Reason, c.Message)
	}
}
