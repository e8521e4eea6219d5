// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// An Agent uses objects of its own namespace. It can use an object of another namespace only if this object allows it: an
// AgentSkill (internal/operator/agentskill), or a Gateway for a route. The Agent itself chooses the targets of push notifications
// (internal/a2a/egress).
var _ = DescribeTable("T-XNS: an Agent is refused that reaches into another namespace",
	func(ctx context.Context, path, value, message string) {
		Expect(create(ctx, agent(path, value))).To(refusal(message))
	},
	Entry("for the skills that it selects", "spec.skillSelector", "{namespace: other}", `unknown field "spec.skillSelector.namespace"`),
	Entry("for the key of its card", "spec.cardSigning", "{secretRef: {name: a, namespace: other}}", `unknown field "spec.cardSigning.secretRef.namespace"`),
	Entry("for the key of its card, by a path", "spec.cardSigning", "{secretRef: {name: other/a}}", "should match"),
	Entry("for its certificate", "spec.access.tls", "{secretRef: {name: a, namespace: other}}", `unknown field "spec.access.tls.secretRef.namespace"`),
	Entry("for its certificate, by a path", "spec.access.tls", "{secretRef: {name: ../other/a}}", "should match"),
	Entry("for the keys of its callers", "spec.access.authentication", "[{type: APIKey, apiKey: {secretRef: {name: a, namespace: other}}}]", `unknown field "spec.access.authentication[0].apiKey.secretRef.namespace"`),
	Entry("for the keys of its callers, by a path", "spec.access.authentication", "[{type: APIKey, apiKey: {secretRef: {name: other/a}}}]", "should match"),
	Entry("for the authorities of its callers", "spec.access", "{tls: {secretRef: {name: a}}, authentication: [{type: MTLS, mtls: {caBundle: {name: a, namespace: other}}}]}", `mtls.caBundle.namespace"`),
	Entry("for the authorities that it trusts", "spec.trustBundle", "{name: a, namespace: other}", `unknown field "spec.trustBundle.namespace"`),
	Entry("for the authorities that it trusts, by a path", "spec.trustBundle", "{name: other/a}", "should match"),
	Entry("for a volume", "spec.workload.template.spec.volumes", "[{name: v, secret: {secretName: a, namespace: other}}]", `secret.namespace"`),
	Entry("for its environment variables", "spec.workload.template.spec.containers", "[{name: agent, image: echo, envFrom: [{secretRef: {name: a, namespace: other}}]}]", `secretRef.namespace"`),
	Entry("for one environment variable", "spec.workload.template.spec.containers", "[{name: agent, image: echo, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: k, namespace: other}}}]}]", `secretKeyRef.namespace"`),
	Entry("for the credentials of an image registry", "spec.workload.template.spec.imagePullSecrets", "[{name: a, namespace: other}]", `imagePullSecrets[0].namespace"`),
)

var _ = It("T-XNS: no Deployment runs with a ServiceAccount of another namespace", func(ctx SpecContext) {
	deployment := object(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo, namespace: default}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {serviceAccountName: other/a, containers: [{name: agent, image: echo}]}
`)
	Expect(create(ctx, deployment)).To(MatchError(ContainSubstring("serviceAccountName: Invalid value")))
})
