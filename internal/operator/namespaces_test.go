// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = It("serves the namespaces of --watch-namespaces only, with rights in them alone", Serial, func(ctx context.Context) {
	watched, other := createNamespace(ctx, "watched-"), createNamespace(ctx, "other-")
	gatewayAPI := gatewayCRDs(ctx)
	_, err := envtest.InstallCRDs(environment.Config, gatewayAPI)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(uninstall, gatewayAPI)
	stop()
	logged := gbytes.NewBuffer()
	config := asNamespacedManager(namespacedUser)
	grant(namespacedUser, roleIn(watched, namespacedUser))
	stop = startManager(config, funcr.New(func(prefix, args string) {
		_, _ = fmt.Fprintln(io.MultiWriter(GinkgoWriter, logged), prefix, args)
	}, funcr.Options{}), watched)
	defer func() {
		stop()
		stop = start()
	}()

	shared := &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "shared"},
		Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "x", Description: "x", Tags: []string{"x"}}},
	}
	shared.Spec.AllowedAgents.Namespaces.From = a2av1alpha1.FromAll
	Expect(cluster.Create(ctx, shared)).To(Succeed())
	// The Agent in the unwatched namespace is created first, so that a manager that
	// watched both would reconcile it first.
	stranger := createAgent(ctx, other, "stranger")
	echo := createAgent(ctx, watched, "echo")
	Eventually(reason(echo, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).
		Should(Equal(a2av1alpha1.ReasonProgrammed))
	asks := createAgent(ctx, watched, "asks", a2av1alpha1.AgentSkillRef{Namespace: other, Name: "shared"})
	Eventually(reason(asks, a2av1alpha1.ConditionSkillsResolved)).
		WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound), "a skill of another namespace counts as absent")
	Expect(message(asks, a2av1alpha1.ConditionSkillsResolved)(ctx)).
		To(ContainSubstring("the operator does not watch namespace %q", other))
	Expect(reason(stranger, a2av1alpha1.ConditionProgrammed)(ctx)).To(Equal(a2av1alpha1.ReasonPending))

	By("an Agent with objects of every kind")
	runPod(ctx, echo, "echo-1")
	Eventually(reason(echo, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))
	editAgent(ctx, echo, func(spec *a2av1alpha1.AgentSpec) {
		spec.Exposure = &a2av1alpha1.AgentExposure{
			ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}, GRPCHostnames: []a2av1alpha1.Hostname{"grpc.example.com"},
		}
		spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
			Type: a2av1alpha1.TaskStoreRedis, Redis: &a2av1alpha1.AgentRedis{Addresses: []string{"redis:6379"}},
		}
		spec.Workload.Autoscaling = &a2av1alpha1.AgentAutoscaling{
			MaxReplicas: 2, Metrics: []a2av1alpha1.AutoscalingMetric{{Type: a2av1alpha1.AutoscalingMetricCPU, Target: 80}},
		}
	})
	Eventually(reason(echo, a2av1alpha1.ConditionExposed)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayNotFound))
	gateway := &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "public"},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: "any", Listeners: []gatewayv1.Listener{
			{Name: "web", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
		}},
	}
	Expect(cluster.Create(ctx, gateway)).To(Succeed())
	Eventually(reason(echo, a2av1alpha1.ConditionExposed)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonRoutePending))
	optional := []client.Object{
		&gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}, &networkingv1.NetworkPolicy{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
	}
	for _, obj := range optional {
		Eventually(func(ctx context.Context) error { return cluster.Get(ctx, client.ObjectKeyFromObject(echo), obj) }).
			WithContext(ctx).Should(Succeed())
	}
	editAgent(ctx, echo, func(spec *a2av1alpha1.AgentSpec) {
		spec.Exposure, spec.Workload.Autoscaling = nil, nil
		spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone
	})
	for _, obj := range optional {
		Eventually(func(ctx context.Context) bool {
			return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(echo), obj))
		}).WithContext(ctx).Should(BeTrue())
	}
	Eventually(registryStatus(ctx)).Should(Equal(http.StatusOK))
	Eventually(func() []string { return eventReasons(ctx, watched) }).Should(ContainElement(a2av1alpha1.ReasonReady))

	stop()
	stop = func() {}
	used, forbidden := usedRights(namespacedUser)
	Expect(forbidden).To(BeEmpty(), "forbidden requests")
	Expect(logged).NotTo(gbytes.Say("unknown namespace"), "a cached read of a namespace that is not watched")
	Expect(used).To(HaveKey("patch a2a-operator.dev/agents/status"), "the audit log has the manager's requests")
})

var _ = It("serves its other namespaces while one is missing, and ends when that one can be read, to be restarted", Serial, func(ctx context.Context) {
	const user = "manager-of-two"
	existing, missing := createNamespace(ctx, "existing-"), fmt.Sprintf("missing-%d", GinkgoRandomSeed())
	stop()
	stop = func() {}
	defer func() {
		stop()
		stop = start()
	}()
	interval := missingCheckInterval
	missingCheckInterval = 500 * time.Millisecond
	defer func() { missingCheckInterval = interval }()
	config := asNamespacedManager(user)
	grant(user, roleIn(existing, user))
	reduced := createNamespace(ctx, "reduced-")
	grant(user, readingRole(reduced, user, "list"))
	ended := make(chan error, 1)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { ended <- Run(running, config, managerConfig(missing, reduced, existing), GinkgoLogr) }()
	Eventually(reason(createAgent(ctx, existing, "echo"), a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).
		Should(Equal(a2av1alpha1.ReasonProgrammed))

	Expect(cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: missing}})).To(Succeed())
	back := createAgent(ctx, missing, "echo")
	grant(user, readingRole(missing, user, "list", "watch"))
	Consistently(ended).WithContext(ctx).WithTimeout(8 * missingCheckInterval).ShouldNot(Receive())
	grant(user, roleIn(missing, user))
	Eventually(ended).WithContext(ctx).WithTimeout(2 * time.Minute).
		Should(Receive(MatchError(ContainSubstring("restart to serve namespaces that were missing at the start: " + missing))))
	stop = startManager(config, GinkgoLogr, missing, existing)
	Eventually(reason(back, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonProgrammed))
	Eventually(reason(createAgent(ctx, existing, "another"), a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
})

// readingRole returns a Role for the kinds of roleIn that an administrator of the namespace can grant.
func readingRole(namespace, user string, verbs ...string) *rbacv1.Role {
	role := roleIn(namespace, user)
	role.Name = user + "-reads"
	for i := range role.Rules {
		role.Rules[i].Verbs = verbs
	}
	return role
}

var _ = It("ends with an error if it can read none of its namespaces", func(ctx context.Context) {
	config := Defaults()
	config.SidecarImage, config.WatchNamespaces = "example/sidecar:1", []string{"nowhere", "never"}
	err := Run(ctx, asNamespacedManager("manager-of-none"), config, GinkgoLogr)
	Expect(err).To(MatchError(And(ContainSubstring("none of the namespaces of --watch-namespaces can be read (nowhere, never)"), ContainSubstring("forbidden"))))
})
