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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = It("serves the namespaces that it is told to, and no others, with rights in them alone", Serial, func(ctx context.Context) {
	watched, other := makeNamespace(ctx, "watched-"), makeNamespace(ctx, "other-")
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
	// The stranger comes first, so that it would have been looked at first.
	stranger := makeEcho(ctx, other, "stranger")
	echo := makeEcho(ctx, watched, "echo")
	Eventually(reason(echo, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).
		Should(Equal(a2av1alpha1.ReasonProgrammed))
	asks := makeEcho(ctx, watched, "asks", a2av1alpha1.AgentSkillRef{Namespace: other, Name: "shared"})
	Eventually(reason(asks, a2av1alpha1.ConditionSkillsResolved)).
		WithContext(ctx).Should(Equal(a2av1alpha1.ReasonSkillNotFound), "what is not watched is as good as not there")
	Expect(meta.FindStatusCondition(asks.Status.Conditions, a2av1alpha1.ConditionSkillsResolved).Message).
		To(ContainSubstring("the operator does not watch namespace %q", other))
	Expect(reason(stranger, a2av1alpha1.ConditionProgrammed)(ctx)).To(Equal(a2av1alpha1.ReasonPending))

	By("all that an Agent can be made of")
	runPod(ctx, echo, "echo-1")
	Eventually(reason(echo, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))
	edit := func(change func(*a2av1alpha1.AgentSpec)) {
		GinkgoHelper()
		Eventually(func(ctx context.Context) error {
			if err := cluster.Get(ctx, client.ObjectKeyFromObject(echo), echo); err != nil {
				return err
			}
			change(&echo.Spec)
			return cluster.Update(ctx, echo)
		}).WithContext(ctx).Should(Succeed())
	}
	edit(func(spec *a2av1alpha1.AgentSpec) {
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
	edit(func(spec *a2av1alpha1.AgentSpec) {
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
	used, forbidden := asked(namespacedUser)
	Expect(forbidden).To(BeEmpty(), "what the manager may not do, and tried")
	Expect(logged).NotTo(gbytes.Say("unknown namespace"), "what is not watched was asked of the cache")
	Expect(used).To(HaveKey("patch a2a-operator.dev/agents/status"), "the audit log knows the manager")
})

var _ = It("serves its other namespaces while one is gone, and ends when that one is back, to be started anew", Serial, func(ctx context.Context) {
	const user = "manager-of-two"
	there, gone := makeNamespace(ctx, "there-"), fmt.Sprintf("gone-%d", GinkgoRandomSeed())
	stop()
	stop = func() {}
	defer func() {
		stop()
		stop = start()
	}()
	config := asNamespacedManager(user)
	grant(user, roleIn(there, user))
	ended := make(chan error, 1)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { ended <- Run(running, config, managerSettings(gone, there), GinkgoLogr) }()
	Eventually(reason(makeEcho(ctx, there, "echo"), a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).
		Should(Equal(a2av1alpha1.ReasonProgrammed))

	Expect(cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gone}})).To(Succeed())
	back := makeEcho(ctx, gone, "echo")
	grant(user, roleIn(gone, user))
	Eventually(ended).WithContext(ctx).WithTimeout(2 * time.Minute).
		Should(Receive(MatchError(ContainSubstring("start anew: namespaces can be read now that could not: " + gone))))
	stop = startManager(config, GinkgoLogr, gone, there)
	Eventually(reason(back, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonProgrammed))
	Eventually(reason(makeEcho(ctx, there, "another"), a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
})

var _ = It("says that it can read none of its namespaces, and ends", func(ctx context.Context) {
	settings := Defaults()
	settings.SidecarImage, settings.WatchNamespaces = "example/sidecar:1", []string{"nowhere", "never"}
	err := Run(ctx, asNamespacedManager("manager-of-none"), settings, GinkgoLogr)
	Expect(err).To(MatchError(And(ContainSubstring("no namespace of --watch-namespaces can be read, of nowhere, never"), ContainSubstring("forbidden"))))
})

func makeNamespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	Expect(cluster.Create(ctx, created)).To(Succeed())
	return created.Name
}

func makeEcho(ctx context.Context, namespace, name string, refs ...a2av1alpha1.AgentSkillRef) *a2av1alpha1.Agent {
	GinkgoHelper()
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: a2av1alpha1.AgentSpec{
		Description: "Says it again.", SkillRefs: refs,
		Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
		}}},
	}}
	Expect(cluster.Create(ctx, agent)).To(Succeed())
	return agent
}

// reason is that of a condition of an Agent, which has all of them from the
// start.
func reason(agent *a2av1alpha1.Agent, condition string) func(context.Context) string {
	return func(ctx context.Context) string {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err.Error()
		}
		return meta.FindStatusCondition(agent.Status.Conditions, condition).Reason
	}
}
