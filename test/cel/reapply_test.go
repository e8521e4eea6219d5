// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
)

// everyDefault is an Agent that omits every field that has a default, in particular fields inside lists.
const everyDefault = `
apiVersion: a2a-operator.dev/v1alpha1
kind: Agent
metadata: {name: echo, namespace: default}
spec:
  description: Says it again.
  skills:
  - {id: sing, name: Sing, description: Sings a song., tags: [music]}
  access:
    tls: {secretRef: {name: cert}}
    authentication:
    - {type: MTLS, mtls: {caBundle: {name: authorities}, trustDomain: example.org}}
    - {type: APIKey, apiKey: {secretRef: {name: keys}}}
  pushNotifications: {allowedTargets: [{service: {name: hook}}]}
  networkPolicy: {egress: [{ports: [{port: 443}]}]}
  exposure: {parentRefs: [{name: gateway}], hostnames: [echo.example.com]}
  workload:
    autoscaling: {minReplicas: 1, maxReplicas: 3, metrics: [{type: InFlightTurns, target: 5}]}
    tasks: {store: {type: Redis, redis: {addresses: ['redis:6379']}}}
    template:
      spec:
        imagePullSecrets: [{name: pull}]
        volumes:
        - {name: data, configMap: {name: data}}
        initContainers: [{name: first, image: first}]
        containers:
        - name: agent
          image: echo
          ports: [{containerPort: 8080}, {name: other, containerPort: 9090}]
          readinessProbe: {grpc: {port: 9090}}
          envFrom: [{secretRef: {name: env}}]
          env:
          - {name: A, valueFrom: {secretKeyRef: {name: a, key: a}}}
`

// An unchanged file must have no effect. Client-side `kubectl apply` computes a patch from the last applied file, the
// new file and the stored object. It reports "configured" unless this patch is empty.
var _ = Describe("an unchanged file", func() {
	unchanged := func(ctx context.Context, manifest string) {
		GinkgoHelper()
		obj := object(manifest)
		obj.SetNamespace("default")
		file, err := json.Marshal(obj)
		Expect(err).NotTo(HaveOccurred())
		Expect(create(ctx, obj)).To(Succeed()) // create stores the object with its defaults in obj
		stored, err := json.Marshal(obj)
		Expect(err).NotTo(HaveOccurred())
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(file, file, stored)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(patch)).To(Equal("{}"))
	}

	It("is unchanged when it is applied again and omits defaults", func(ctx context.Context) {
		unchanged(ctx, everyDefault)
	})

	It("is unchanged when it is one of the samples", func(ctx context.Context) {
		files, err := filepath.Glob("../../config/samples/*/agent.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
		for _, file := range append(files, "../../config/samples/skills.yaml") {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			for manifest := range strings.SplitSeq(string(text), "\n---\n") {
				unchanged(ctx, manifest)
			}
		}
	})
})
