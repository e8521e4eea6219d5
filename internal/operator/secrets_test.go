// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// everySecret is the spec of an Agent with every field that can refer to a Secret.
const everySecret = `
description: Keeps secrets.
cardSigning: {secretRef: {name: card-key}}
trustBundle: {kind: Secret, name: authorities}
access:
  tls: {secretRef: {name: server}}
  authentication:
  - {type: MTLS, mtls: {caBundle: {kind: Secret, name: authorities}, trustDomain: example.org}}
  - {type: APIKey, apiKey: {secretRef: {name: callers}}}
model: {apiKeySecretRef: {name: model}, headers: [{name: X-Team, value: blue}]}
workload:
  tasks: {store: {type: Redis, redis: {addresses: ["redis:6379"], username: u, passwordSecretRef: {name: redis}, tls: {secretRef: {name: redis-tls}}}}}
  template:
    spec:
      imagePullSecrets: [{name: pull}]
      containers:
      - name: agent
        image: example/echo:1
        env: [{name: MODEL_KEY, valueFrom: {secretKeyRef: {name: own, key: key}}}]
        envFrom: [{secretRef: {name: own}}]
`

// modelSecret is the spec of an Agent with a remote model server.
const modelSecret = `
description: Thinks.
model: {url: "https://models.example/v1", apiKeySecretRef: {name: model, key: OTHER}}
`

var _ = It("T-SECRET: no value of a Secret is in an object, an event, the log or a metric", Serial, func(ctx context.Context) {
	namespace := createNamespace(ctx, "secrets-")
	canaries, unusable := map[string]string{}, map[string]string{"invalid": "\x01"}
	// The test searches the output for each canary, as plain text and in base64.
	secret := func(name string, keys ...string) {
		GinkgoHelper()
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{}}
		for _, key := range keys {
			value := "canary" + strings.ToLower(rand.Text()) + strings.ToLower(rand.Text())
			canaries[name+"/"+key] = value
			s.StringData[key] = value + unusable[name]
		}
		Expect(cluster.Create(ctx, s)).To(Succeed())
	}
	secret("card-key", "tls.key", "previous.key")
	secret("authorities", "ca.crt")
	secret("server", "tls.crt", "tls.key", "ca.crt")
	secret("callers", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	secret("redis", "password")
	secret("redis-tls", "tls.crt", "tls.key", "ca.crt")
	secret("pull", "token", "another")
	secret("model", "api-key", "OTHER")
	secret("own", "key", "a", "b", "c", "d", "e")
	// The operator reads the next Secrets: the credentials of remote agents. test/security and the tests of
	// internal/operator/remote cover the use of such credentials.
	secret("forbidden", "token")
	secret("invalid", "token")
	secret("key", "token")
	secret("basic", "username", "password")
	secret("certificate", "tls.crt", "tls.key")
	secret("oauth2", "client-secret")
	grant(managerUser, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials-of-remotes"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{"forbidden", "invalid", "key", "basic", "certificate", "oauth2"}},
	}})
	stop()
	logged := gbytes.NewBuffer()
	stop = startLogging(funcr.New(func(prefix, args string) {
		_, _ = fmt.Fprintln(logged, prefix, args)
	}, funcr.Options{Verbosity: 10}))
	defer func() {
		stop()
		stop = start()
	}()

	for name, spec := range map[string]string{"keeper": everySecret, "thinker": modelSecret} {
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		Expect(yaml.UnmarshalStrict([]byte(spec), &agent.Spec)).To(Succeed())
		Expect(cluster.Create(ctx, agent)).To(Succeed())
	}
	reasonOf := func(name, conditionType string) func(context.Context) string {
		return reason(&a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, conditionType)
	}
	for name, credentials := range map[string]a2av1alpha1.RemoteCredentials{
		"forbidden": {}, "invalid": {},
		"key":         {Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Query: "key"}},
		"basic":       {Type: a2av1alpha1.RemoteCredentialsBasic},
		"certificate": {Type: a2av1alpha1.RemoteCredentialsClientCertificate},
		"oauth2":      {Type: a2av1alpha1.RemoteCredentialsOAuth2, OAuth2: &a2av1alpha1.RemoteOAuth2{TokenURL: "https://127.0.0.1:1/token", ClientID: "cluster"}},
	} {
		credentials.SecretRef.Name = name
		a := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{
			URL: "https://127.0.0.1:1", Credentials: &credentials,
		}}}
		Expect(cluster.Create(ctx, a)).To(Succeed())
	}
	for _, name := range []string{"keeper", "thinker"} {
		Eventually(reasonOf(name, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).Should(HavePrefix(a2av1alpha1.ReasonProgrammed), name)
	}
	for name, want := range map[string]string{
		"forbidden": a2av1alpha1.ReasonRemoteForbidden, "invalid": a2av1alpha1.ReasonRemoteCredentialsUnusable,
		"key": a2av1alpha1.ReasonRemoteForbidden, "basic": a2av1alpha1.ReasonRemoteForbidden,
		"certificate": a2av1alpha1.ReasonRemoteCredentialsUnusable, "oauth2": a2av1alpha1.ReasonRemoteCredentialsUnusable,
	} {
		Eventually(reasonOf(name, a2av1alpha1.ConditionAvailable)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(want), name)
	}

	visible := map[string]string{"the log": string(logged.Contents())}
	for kind, list := range map[string]client.ObjectList{
		"Agents with their status": &a2av1alpha1.AgentList{}, "Deployments with arguments and environment": &appsv1.DeploymentList{},
		"ConfigMaps with sidecar configuration and card": &corev1.ConfigMapList{}, "Services": &corev1.ServiceList{}, "ServiceAccounts": &corev1.ServiceAccountList{},
		"NetworkPolicies": &networkingv1.NetworkPolicyList{}, "events": &eventsv1.EventList{},
	} {
		Eventually(func(ctx context.Context) (string, error) {
			err := cluster.List(ctx, list, client.InNamespace(namespace))
			text, _ := json.Marshal(list)
			visible[kind] = string(text)
			return visible[kind], err
		}).WithContext(ctx).Should(ContainSubstring(map[bool]string{true: "invalid", false: "keeper"}[kind == "events"]), kind)
	}
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var text strings.Builder
	for _, family := range families {
		text.WriteString(family.String())
	}
	visible["metrics"] = text.String()
	Expect(strings.Count(visible["Deployments with arguments and environment"], "--model-api-key-file")).To(Equal(2), "both have a model's key")
	for where, what := range map[string]string{
		"the log": "keeper", "ConfigMaps with sidecar configuration and card": "Keeps secrets.",
		"Deployments with arguments and environment": "--api-keys", "metrics": "controller_runtime_reconcile_total",
	} {
		Expect(visible[where]).To(ContainSubstring(what), "%s was looked at", where)
	}
	var found []string
	size := 0
	for where, text := range visible {
		size += len(text)
		for name, canary := range canaries {
			encoded, err := json.Marshal([]byte(canary))
			Expect(err).NotTo(HaveOccurred())
			if strings.Contains(text, canary) || strings.Contains(text, strings.Trim(string(encoded), `"=`)) {
				found = append(found, where+" has "+name)
			}
		}
	}
	Expect(found).To(BeEmpty())
	Expect(len(canaries)).To(BeNumerically(">=", 30))
	_, _ = fmt.Fprintf(GinkgoWriter, "T-SECRET: %d canaries in %d outputs of %d bytes, 0 found\n", len(canaries), len(visible), size)
})
