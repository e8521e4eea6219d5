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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
)

var _ = Describe("the exposure of an Agent", func() {
	var f *fixture
	var gateway *gatewayv1.Gateway
	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		gateway = &gatewayv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "public"},
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
		return configurationOf(ctx, agent).Bases
	}

	It("names the field of a route that the API server rejects", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		f.fail["HTTPRoute"] = apierrors.NewBadRequest("no such path")
		expectEdited(ctx, agent, exposed)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False ApplyFailed", `HTTPRoute "echo" of spec.exposure`, "correct it", "no such path")
	})

	It("publishes the card inside the cluster while the routes cannot be written", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		pod := f.expectReady(ctx, agent)
		broken := errors.New("failed calling webhook")
		f.fail["HTTPRoute"] = broken
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			exposed(a)
			a.Spec.Description = "Repeats it once more."
		})
		_, err := f.reconciler.Reconcile(ctx, agent.DeepCopy())
		Expect(err).To(MatchError(broken))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False ApplyFailed", "spec.exposure", "ask the administrator of the operator")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations).To(HaveKey(a2av1alpha1.AnnotationConfigDigest))

		delete(f.fail, "HTTPRoute")
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(ContainElement("apply HTTPRoute"))
		Expect(f.requests).NotTo(ContainElement("list"))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending")
	})

	It("creates routes, waits for the Gateway and publishes the external URL", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
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
		f.expectInSync(ctx, agent)

		By("a Gateway that accepts the routes")
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		accept(ctx, grpc, &grpc.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "True Exposed")
		Expect(agent.Status.ExternalURL).To(Equal("http://agents.example.com/echo/"))
		host := "echo." + f.namespace + ".svc.cluster.local"
		Expect(bases(ctx, agent)).To(HaveLen(5))
		Expect(bases(ctx, agent)[:2]).To(Equal([]card.Base{
			{URL: "http://agents.example.com/echo/", GRPC: "grpc.example.com:80"},
			{URL: "http://" + host + "/", GRPC: host + ":80"},
		}))
		f.expectInSync(ctx, agent)

		By("a Gateway with a certificate")
		expectEdited(ctx, gateway, func(g *gatewayv1.Gateway) {
			g.Spec.Listeners[0].Protocol, g.Spec.Listeners[0].Port = gatewayv1.HTTPSProtocolType, 8443
			g.Spec.Listeners[0].TLS = &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "cert"}}}
		})
		f.expectReconciled(ctx, agent)
		Expect(agent.Status.ExternalURL).To(Equal("https://agents.example.com:8443/echo/"))

		By("another hostname, which the Gateway has not processed")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Exposure.Hostnames[0] = "new.example.com" })
		for range 2 {
			f.expectReconciled(ctx, agent)
			expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending", `Gateway "public"`)
			Expect(agent.Status.ExternalURL).To(BeEmpty())
		}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		f.expectReconciled(ctx, agent)
		Expect(agent.Status.ExternalURL).To(Equal("https://new.example.com:8443/echo/"))

		By("a Gateway that no longer accepts the route")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionFalse, "NotAllowedByListeners", "not from this namespace")
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RouteNotAccepted", "NotAllowedByListeners: not from this namespace", "allowedRoutes")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RolloutInProgress")
		Expect(agent.Status.ExternalURL).To(BeEmpty())
		Expect(bases(ctx, agent)).To(HaveLen(4), "the card has no external address")
		Expect(bases(ctx, agent)[0].GRPC).To(Equal(host + ":80"))
	})

	It("repairs routes, and deletes them with spec.exposure", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		route := read[gatewayv1.HTTPRoute](ctx, agent, "echo")
		before := edited(ctx, route, func(r *gatewayv1.HTTPRoute) { r.Spec.Rules[0].Timeouts.Request = new(gatewayv1.Duration("5s")) })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply HTTPRoute"}))
		Expect(specOf(read[gatewayv1.HTTPRoute](ctx, agent, "echo"))).To(Equal(before))

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Exposure = nil })
		f.expectReconciled(ctx, agent)
		for _, obj := range []client.Object{&gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}} {
			Expect(apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj))).To(BeTrue())
		}
		Expect(read[corev1.Service](ctx, agent, "echo").Spec.Ports).To(HaveLen(1))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "True ClusterOnly")
		f.expectInSync(ctx, agent)
	})

	expectNoRoutes := func(ctx context.Context, agent *a2av1alpha1.Agent) {
		GinkgoHelper()
		for _, obj := range []client.Object{&gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}} {
			Expect(apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj))).To(BeTrue())
		}
	}

	It("creates no route that the installer does not allow, and deletes those that are no longer allowed", func(ctx context.Context) {
		f.exposure.rules = nil
		agent := makeAgent(f.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		f.expectReconciled(ctx, agent)
		expectNoRoutes(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False HostnameNotAllowed", "spec.exposure.hostnames has agents.example.com", f.namespace, "exposure.allowed")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		expectCondition(agent, a2av1alpha1.ConditionStalled, "True HostnameNotAllowed")
		f.expectInSync(ctx, agent)

		By("allowing one of the hostnames, and then both")
		f.exposure.expectAllowed("[agents.example.com]")
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply HTTPRoute", "apply Agent/status"}))
		f.exposure.expectAllowed(`["*.example.com"]`)
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(ContainElement("apply GRPCRoute"))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending")

		By("withdrawing the hostnames")
		f.exposure.rules = nil
		f.expectReconciled(ctx, agent)
		expectNoRoutes(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False HostnameNotAllowed")
		f.expectInSync(ctx, agent)
	})

	DescribeTable("deletes forbidden routes of an Agent whose objects cannot be written",
		func(ctx context.Context, change func(*a2av1alpha1.Agent), fail string, condition, reason string) {
			agent := makeAgent(f.namespace, "echo", exposed)
			expectApplied(ctx, agent)
			f.expectReconciled(ctx, agent)
			read[gatewayv1.HTTPRoute](ctx, agent, "echo")
			expectEdited(ctx, agent, change)
			if fail != "" {
				f.fail[fail] = apierrors.NewForbidden(schema.GroupResource{}, "echo", errors.New("a policy"))
			}
			f.exposure.rules = nil
			f.expectReconciled(ctx, agent)
			expectNoRoutes(ctx, agent)
			expectCondition(agent, condition, "False "+reason)
			expectCondition(agent, a2av1alpha1.ConditionExposed, "False HostnameNotAllowed")
		},
		Entry("because of a mistake in the spec", func(a *a2av1alpha1.Agent) {
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationAllow, Expression: "caller.nobody"}}
		}, "", a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidAuthorization),
		Entry("because the API server rejects one", func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Labels = map[string]string{"a": "b"} },
			"Deployment", a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonForbidden),
		Entry("while the spec has other hostnames", func(a *a2av1alpha1.Agent) {
			a.Spec.Exposure.Hostnames = []a2av1alpha1.Hostname{"new.example.com"}
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationAllow, Expression: "caller.nobody"}}
		}, "", a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidAuthorization),
	)

	It("serves the cluster without the Gateway API and reports the missing kinds", func(ctx context.Context) {
		kinds := []client.Reader{f.optional[gather.Gateways], f.optional[gather.HTTPRoutes], f.optional[gather.GRPCRoutes]}
		clear(f.optional)
		agent := makeAgent(f.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		runDeployment(ctx, agent, "echo-1", true, f.runningNow())
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False GatewayAPIMissing", "httproutes.gateway.networking.k8s.io", "install", "remove spec.exposure")
		Expect(meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionAvailable)).To(BeTrue())
		Expect(meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionCardPublished)).To(BeTrue())
		f.expectInSync(ctx, agent)

		f.optional[gather.Gateways], f.optional[gather.HTTPRoutes], f.optional[gather.GRPCRoutes] = kinds[0], kinds[1], kinds[2]
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply HTTPRoute", "apply GRPCRoute", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending")
	})

	It("reports the required version of the Gateway API, and retries after a change of the CRDs", func(ctx context.Context) {
		f.fail["HTTPRoute"] = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "failed to create typed patch object (x/echo; gateway.networking.k8s.io/v1, Kind=HTTPRoute): .spec.rules[0].timeouts: field not declared in schema",
		}}
		agent := makeAgent(f.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(f.expectReconciled(ctx, agent).RequeueAfter).To(Equal(5*time.Second), "another schema may come without an event")
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False ApplyFailed",
			`HTTPRoute "echo"`, ".timeouts: field not declared in schema", "install the Gateway API v1.2 or later")
		Expect(describe(agent, a2av1alpha1.ConditionExposed)).NotTo(ContainSubstring("has not reported a status"), "no route exists")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		f.expectInSync(ctx, agent)

		delete(f.fail, "HTTPRoute")
		queue := priorityqueue.New[reconcile.Request]("test")
		defer queue.ShutDown()
		f.reconciler.gatewayAPIChanged(ctx, queue)
		enqueued := map[client.ObjectKey]int{}
		for range queue.Len() { // the queue also has Agents of other test specs
			request, priority, _ := queue.GetWithPriority()
			enqueued[request.NamespacedName] = priority
		}
		Expect(enqueued).To(HaveKeyWithValue(client.ObjectKeyFromObject(agent), priorityAllAgents))
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply HTTPRoute", "apply GRPCRoute", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False RoutePending")
	})

	It("serves the cluster when another owner has a route with its name", func(ctx context.Context) {
		foreign := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "echo"}}
		expectApplied(ctx, foreign)
		agent := makeAgent(f.namespace, "echo", exposed)
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False Conflict", `HTTPRoute "echo"`)
		Expect(describe(agent, a2av1alpha1.ConditionExposed)).NotTo(ContainSubstring("has not reported a status"), "for a route of another owner")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		Expect(read[gatewayv1.HTTPRoute](ctx, agent, "echo").OwnerReferences).To(BeEmpty())
	})

	It("gives an address to one Agent only", func(ctx context.Context) {
		acceptRoutes := func(agent *a2av1alpha1.Agent) {
			route := read[gatewayv1.HTTPRoute](ctx, agent, agent.Name)
			accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
			grpc := read[gatewayv1.GRPCRoute](ctx, agent, agent.Name)
			accept(ctx, grpc, &grpc.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		}
		// Routes that were created within one second are ordered by name.
		first, second := makeAgent(f.namespace, "echo-1", exposed), makeAgent(f.namespace, "echo-2", exposed)
		second.Spec.Exposure.GRPCHostnames = nil
		expectApplied(ctx, first, second)
		f.expectReconciled(ctx, first)
		f.expectReconciled(ctx, second)
		route := read[gatewayv1.HTTPRoute](ctx, second, "echo-2")
		accept(ctx, route, &route.Status.RouteStatus, metav1.ConditionTrue, "Accepted", "")
		f.expectReconciled(ctx, second)
		expectCondition(second, a2av1alpha1.ConditionExposed, "True Exposed")

		acceptRoutes(first)
		f.expectClaimsRead(ctx, first, second)
		for _, agent := range []*a2av1alpha1.Agent{first, second} {
			f.expectReconciled(ctx, agent)
		}
		expectCondition(first, a2av1alpha1.ConditionExposed, "True Exposed")
		expectCondition(second, a2av1alpha1.ConditionExposed, "False AddressConflict", f.namespace+"/echo-1", "agents.example.com", "spec.exposure.path")
		Expect(second.Status.ExternalURL).To(BeEmpty())
		f.expectInSync(ctx, second)

		expectEdited(ctx, first, func(a *a2av1alpha1.Agent) { a.Spec.Exposure.Path = "/other" })
		f.expectClaimsRead(ctx, first)
		f.expectReconciled(ctx, second)
		expectCondition(second, a2av1alpha1.ConditionExposed, "True Exposed")
		Expect(second.Status.ExternalURL).To(Equal("http://agents.example.com/echo/"))
	})

	It("reports a missing Gateway", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo", exposed, func(a *a2av1alpha1.Agent) { a.Spec.Exposure.ParentRefs[0].Name = "other" })
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionExposed, "False GatewayNotFound", "spec.exposure.parentRefs[0]", `"other"`)
	})
})

// accept writes a condition of the route's status as the controller of the Gateway does.
func accept(ctx context.Context, route client.Object, status *gatewayv1.RouteStatus, verdict metav1.ConditionStatus, reason, message string) {
	GinkgoHelper()
	condition := metav1.Condition{Type: "Accepted", Status: verdict, Reason: reason, Message: message, LastTransitionTime: metav1.Now(), ObservedGeneration: route.GetGeneration()}
	status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef: gatewayv1.ParentReference{Name: "public"}, ControllerName: "example.com/gateway", Conditions: []metav1.Condition{condition},
	}}
	Expect(cluster.Status().Update(ctx, route)).To(Succeed())
}
