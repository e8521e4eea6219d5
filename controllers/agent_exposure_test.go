// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/gather"
)

var _ = Describe("the exposure of an Agent", func() {
	var b *bench
	var gateway *gatewayv1.Gateway
	BeforeEach(func(ctx context.Context) {
		b = newBench(ctx)
		gateway = &gatewayv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "public"},
			Spec: gatewayv1.GatewaySpec{GatewayClassName: "any", Listeners: []gatewayv1.Listener{
				{Name: "web", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
			}},
		}
		expectApplied(ctx, gateway)
	})
	exposed := func(agent *a2av1alpha1.Agent) {
		agent.Spec.Exposure = &a2av1alpha1.AgentExposure{
			ParentRefs:    []a2av1alpha1.GatewayRef{{Name: "public"}},
			Hostnames:     []a2av1alpha1.Hostname{"agents.example.com"},
			GRPCHostnames: []a2av1alpha1.Hostname{"grpc.example.com"},
			Path:          "/echo",
		}
	}
	bases := func(ctx context.Context, agent *a2av1alpha1.Agent) []card.Base {
		return contractOf(ctx, agent).Bases
	}

	It("names the field that makes a route which the API server refuses", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		b.expectReady(ctx, agent)
		b.fail["HTTPRoute"] = apierrors.NewBadRequest("no such path")
		expectEdited(ctx, agent, exposed)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False ApplyFailed", `spec.exposure makes HTTPRoute "echo"`, "correct it", "no such path")
	})

	It("publishes the card inside the cluster while the routes cannot be written", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		pod := b.expectReady(ctx, agent)
		broken := errors.New("failed calling webhook")
		b.fail["HTTPRoute"] = broken
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			exposed(a)
			a.Spec.Description = "Says it once more."
		})
		_, err := b.reconciler.Reconcile(ctx, agent.DeepCopy())
		Expect(err).To(MatchError(broken))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False ApplyFailed", "spec.exposure", "ask who installed the operator")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations).To(HaveKey(a2av1alpha1.AnnotationConfigDigest))

		delete(b.fail, "HTTPRoute")
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(ContainElement("apply HTTPRoute"))
		Expect(b.requests).NotTo(ContainElement("list"))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending")
	})

	It("makes routes, waits for the Gateway, and tells callers where it is", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending", `Gateway "public"`)
		Expect(agent.Status.ExternalURL).To(BeEmpty())

		route := read[gatewayv1.HTTPRoute](ctx, agent, "echo")
		Expect(metav1.IsControlledBy(route, agent)).To(BeTrue())
		Expect(*route.Spec.Rules[0].Timeouts.Request).To(BeEquivalentTo("0s"), "a stream lasts as long as its task")
		Expect(route.Spec.Rules[0].BackendRefs[0].Port).To(HaveValue(BeEquivalentTo(80)))
		service := read[corev1.Service](ctx, agent, "echo")
		Expect(service.Spec.Ports).To(HaveLen(2))
		Expect(*service.Spec.Ports[1].AppProtocol).To(Equal("kubernetes.io/h2c"))
		grpc := read[gatewayv1.GRPCRoute](ctx, agent, "echo")
		Expect(grpc.Spec.Rules[0].BackendRefs[0].Port).To(HaveValue(Equal(service.Spec.Ports[1].Port)))
		b.expectConverged(ctx, agent)

		By("a Gateway that takes the routes")
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		accept(ctx, grpc, &grpc.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "True Exposed")
		Expect(agent.Status.ExternalURL).To(Equal("http://agents.example.com/echo/"))
		host := "echo." + b.namespace + ".svc.cluster.local"
		Expect(bases(ctx, agent)).To(HaveLen(5))
		Expect(bases(ctx, agent)[:2]).To(Equal([]card.Base{
			{URL: "http://agents.example.com/echo/", GRPC: "grpc.example.com:80"},
			{URL: "http://" + host + "/", GRPC: host + ":80"},
		}))
		b.expectConverged(ctx, agent)

		By("a Gateway that gets a certificate")
		expectEdited(ctx, gateway, func(g *gatewayv1.Gateway) {
			g.Spec.Listeners[0].Protocol, g.Spec.Listeners[0].Port = gatewayv1.HTTPSProtocolType, 8443
			g.Spec.Listeners[0].TLS = &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "cert"}}}
		})
		b.expectReconciled(ctx, agent)
		Expect(agent.Status.ExternalURL).To(Equal("https://agents.example.com:8443/echo/"))

		By("another hostname, which the Gateway has not seen")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Exposure.Hostnames[0] = "new.example.com" })
		for range 2 {
			b.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending", `Gateway "public"`)
			Expect(agent.Status.ExternalURL).To(BeEmpty())
		}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		b.expectReconciled(ctx, agent)
		Expect(agent.Status.ExternalURL).To(Equal("https://new.example.com:8443/echo/"))

		By("a Gateway that no longer takes it")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionFalse, "NotAllowedByListeners", "not from this namespace")
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RouteNotAccepted", "NotAllowedByListeners: not from this namespace", "allowedRoutes")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RolloutInProgress")
		Expect(agent.Status.ExternalURL).To(BeEmpty())
		Expect(bases(ctx, agent)).To(HaveLen(4), "no card can be read from outside")
		Expect(bases(ctx, agent)[0].GRPC).To(Equal(host + ":80"))
	})

	It("repairs routes, and takes them away with the exposure", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		route := read[gatewayv1.HTTPRoute](ctx, agent, "echo")
		before := tampered(ctx, route, func(r *gatewayv1.HTTPRoute) { r.Spec.Rules[0].Timeouts.Request = new(gatewayv1.Duration("5s")) })
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply HTTPRoute"}))
		Expect(specOf(read[gatewayv1.HTTPRoute](ctx, agent, "echo"))).To(Equal(before))

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Exposure = nil })
		b.expectReconciled(ctx, agent)
		for _, obj := range []client.Object{&gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}} {
			Expect(apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj))).To(BeTrue())
		}
		Expect(read[corev1.Service](ctx, agent, "echo").Spec.Ports).To(HaveLen(1))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "True ClusterOnly")
		b.expectConverged(ctx, agent)
	})

	It("serves the cluster without the Gateway API, and says what is missing", func(ctx context.Context) {
		kinds := []client.Reader{b.offered[gather.Gateways], b.offered[gather.HTTPRoutes], b.offered[gather.GRPCRoutes]}
		clear(b.offered)
		agent := makeAgent(b.namespace, "echo", exposed)
		b.events.Events = make(chan string, 100)
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-1", true, b.runningNow())
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False GatewayAPIMissing", "httproutes.gateway.networking.k8s.io", "install", "remove spec.exposure")
		Expect(meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionAvailable)).To(BeTrue())
		Expect(meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionCardPublished)).To(BeTrue())
		b.expectConverged(ctx, agent)

		b.offered[gather.Gateways], b.offered[gather.HTTPRoutes], b.offered[gather.GRPCRoutes] = kinds[0], kinds[1], kinds[2]
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply HTTPRoute", "apply GRPCRoute", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending")
	})

	It("names the version of the Gateway API that it needs, and tries again with another", func(ctx context.Context) {
		b.fail["HTTPRoute"] = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "failed to create typed patch object (x/echo; gateway.networking.k8s.io/v1, Kind=HTTPRoute): .spec.rules[0].timeouts: field not declared in schema",
		}}
		agent := makeAgent(b.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		Expect(b.expectReconciled(ctx, agent).RequeueAfter).To(Equal(time.Minute), "a schema may come by itself")
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False ApplyFailed",
			`HTTPRoute "echo"`, ".timeouts: field not declared in schema", "install the Gateway API v1.2 or later")
		Expect(describe(agent, a2av1alpha1.ConditionExposed)).NotTo(ContainSubstring("has not answered"), "there is no route")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		b.expectConverged(ctx, agent)

		delete(b.fail, "HTTPRoute")
		queue := priorityqueue.New[reconcile.Request]("test")
		defer queue.ShutDown()
		b.reconciler.gatewayAPIChanged(ctx, queue)
		looked := map[client.ObjectKey]int{}
		for range queue.Len() { // those of other specs as well
			request, priority, _ := queue.GetWithPriority()
			looked[request.NamespacedName] = priority
		}
		Expect(looked).To(HaveKeyWithValue(client.ObjectKeyFromObject(agent), prioritySweep))
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply HTTPRoute", "apply GRPCRoute", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending")
	})

	It("serves the cluster when somebody else has the route's name", func(ctx context.Context) {
		foreign := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "echo"}}
		expectApplied(ctx, foreign)
		agent := makeAgent(b.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False Conflict", `HTTPRoute "echo"`)
		Expect(describe(agent, a2av1alpha1.ConditionExposed)).NotTo(ContainSubstring("has not answered"), "about a route of somebody else's")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		Expect(read[gatewayv1.HTTPRoute](ctx, agent, "echo").OwnerReferences).To(BeEmpty())
	})

	It("is at an address for one Agent only", func(ctx context.Context) {
		taken := func(agent *a2av1alpha1.Agent) {
			route := read[gatewayv1.HTTPRoute](ctx, agent, agent.Name)
			accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
			grpc := read[gatewayv1.GRPCRoute](ctx, agent, agent.Name)
			accept(ctx, grpc, &grpc.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		}
		// Routes of one second are in the order of their names.
		first, second := makeAgent(b.namespace, "echo-1", exposed), makeAgent(b.namespace, "echo-2", exposed)
		second.Spec.Exposure.GRPCHostnames = nil
		expectApplied(ctx, first, second)
		b.expectReconciled(ctx, first)
		b.expectReconciled(ctx, second)
		route := read[gatewayv1.HTTPRoute](ctx, second, "echo-2")
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		b.expectReconciled(ctx, second)
		expectCondition(second, a2av1alpha1.ConditionExposed, "True Exposed")

		taken(first)
		for _, agent := range []*a2av1alpha1.Agent{first, second} {
			b.expectReconciled(ctx, agent)
		}
		expectCondition(first, a2av1alpha1.ConditionExposed, "True Exposed")
		expectCondition(second, a2av1alpha1.ConditionExposed, "False AddressConflict", b.namespace+"/echo-1", "agents.example.com", "spec.exposure.path")
		Expect(second.Status.ExternalURL).To(BeEmpty())
		b.expectConverged(ctx, second)

		expectEdited(ctx, first, func(a *a2av1alpha1.Agent) { a.Spec.Exposure.Path = "/other" })
		b.expectReconciled(ctx, second)
		expectCondition(second, a2av1alpha1.ConditionExposed, "True Exposed")
		Expect(second.Status.ExternalURL).To(Equal("http://agents.example.com/echo/"))
	})

	It("sees a Gateway that is not there", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo", exposed, func(a *a2av1alpha1.Agent) { a.Spec.Exposure.ParentRefs[0].Name = "other" })
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False GatewayNotFound", "spec.exposure.parentRefs[0]", `"other"`)
	})
})

// accept answers about a route as the controller of the Gateway would.
func accept(ctx context.Context, route client.Object, status *gatewayv1.RouteStatus, verdict metav1.ConditionStatus, reason, message string) {
	GinkgoHelper()
	condition := metav1.Condition{Type: "Accepted", Status: verdict, Reason: reason, Message: message, LastTransitionTime: metav1.Now(), ObservedGeneration: route.GetGeneration()}
	status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef: gatewayv1.ParentReference{Name: "public"}, ControllerName: "example.com/gateway", Conditions: []metav1.Condition{condition},
	}}
	Expect(cluster.Status().Update(ctx, route)).To(Succeed())
}
