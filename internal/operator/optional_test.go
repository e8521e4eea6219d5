// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/controlplane"
	"github.com/a2a-operator/a2a-operator/internal/gather"
)

// gatewayCRDs are those of the Gateway API.
func gatewayCRDs(ctx context.Context) envtest.CRDInstallOptions {
	GinkgoHelper()
	files, err := controlplane.GatewayAPI(ctx)
	Expect(err).NotTo(HaveOccurred())
	return envtest.CRDInstallOptions{Paths: files, MaxTime: time.Minute}
}

// makeExposed makes an Agent that Gateways are to lead to.
func makeExposed(ctx context.Context, namespace string, grpc ...a2av1alpha1.Hostname) *a2av1alpha1.Agent {
	GinkgoHelper()
	agent := makeEcho(ctx, namespace, "exposed")
	agent.Spec.Exposure = &a2av1alpha1.AgentExposure{
		ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}, URL: "https://echo.example.com/", GRPCHostnames: grpc,
	}
	Eventually(func() error {
		written := &a2av1alpha1.Agent{}
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), written); err != nil {
			return err
		}
		written.Spec.Exposure = agent.Spec.Exposure
		return cluster.Update(ctx, written)
	}).Should(Succeed())
	return agent
}

// exposedMessage is what an Agent is told of its exposure.
func exposedMessage(agent *a2av1alpha1.Agent) func(context.Context) string {
	return func(ctx context.Context) string {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err.Error()
		}
		return meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionExposed).Message
	}
}

// uninstall takes those CRDs away, and waits for what the API server does in
// its own time.
func uninstall(ctx context.Context, crds envtest.CRDInstallOptions) {
	GinkgoHelper()
	Expect(envtest.UninstallCRDs(environment.Config, crds)).To(Succeed())
	scheme := runtime.NewScheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	reader, err := client.New(environment.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	for _, kind := range []schema.GroupResource{gather.Gateways, gather.HTTPRoutes, gather.GRPCRoutes} {
		Eventually(func(ctx context.Context) bool {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			return apierrors.IsNotFound(reader.Get(ctx, client.ObjectKey{Name: kind.String()}, crd))
		}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
	}
}

var _ = It("makes the route that an old Gateway API refused once there is a new one", Serial, func(ctx context.Context) {
	crds := gatewayCRDs(ctx)
	file := slices.IndexFunc(crds.Paths, func(path string) bool { return strings.HasSuffix(path, gather.HTTPRoutes.Resource+".yaml") })
	text, err := os.ReadFile(crds.Paths[file])
	Expect(err).NotTo(HaveOccurred())
	routes := &apiextensionsv1.CustomResourceDefinition{}
	Expect(yaml.Unmarshal(text, routes)).To(Succeed())
	for i := range routes.Spec.Versions {
		// As it was in v1.1.
		rules := routes.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties["rules"].Items.Schema
		Expect(rules.Properties).To(HaveKey("timeouts"))
		delete(rules.Properties, "timeouts")
	}
	old := crds
	old.Paths, old.CRDs = slices.Delete(slices.Clone(crds.Paths), file, file+1), []*apiextensionsv1.CustomResourceDefinition{routes}
	_, err = envtest.InstallCRDs(environment.Config, old)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(uninstall, crds)

	agent := makeExposed(ctx, makeNamespace(ctx, "early-"))
	message := exposedMessage(agent)
	Eventually(message).WithContext(ctx).WithTimeout(time.Minute).Should(And(
		ContainSubstring(".timeouts: field not declared in schema"), ContainSubstring("install the Gateway API v1.2 or later"),
		Not(ContainSubstring("has not answered"))))

	By("an upgrade of the CRDs")
	_, err = envtest.InstallCRDs(environment.Config, crds)
	Expect(err).NotTo(HaveOccurred())
	// An API server that has not heard of it yet is asked again after a minute.
	Eventually(message).WithContext(ctx).WithTimeout(90 * time.Second).Should(ContainSubstring("has not answered about the HTTPRoute"))
})

var _ = It("serves all Agents but those that need a kind that it may not read", Serial, func(ctx context.Context) {
	crds := gatewayCRDs(ctx)
	_, err := envtest.InstallCRDs(environment.Config, crds)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(uninstall, crds)
	const curtailed = "curtailed-manager"
	user, err := environment.AddUser(envtest.User{Name: curtailed}, nil)
	Expect(err).NotTo(HaveOccurred())
	role, leader := managerRole(), leaderRole()
	role.Name, leader.Name, leader.Namespace = curtailed, curtailed, leaseNamespace
	withheld := rbacv1.PolicyRule{APIGroups: []string{gather.GRPCRoutes.Group}, Resources: []string{gather.GRPCRoutes.Resource}, Verbs: []string{"list", "watch", "create", "patch", "delete"}}
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == gather.GRPCRoutes.Resource })
	}
	grant(curtailed, role)
	grant(curtailed, leader)

	stop()
	namespace := makeNamespace(ctx, "curtailed-")
	echo := makeEcho(ctx, namespace, "echo")
	exposed := makeExposed(ctx, namespace, "grpc.example.com")
	stop = startManager(user.Config(), GinkgoLogr)
	defer func() {
		stop()
		stop = start()
	}()
	message := exposedMessage(exposed)
	Eventually(reason(echo, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonProgrammed))
	Eventually(message).WithContext(ctx).WithTimeout(time.Minute).Should(And(
		ContainSubstring(`GRPCRoutes cannot be read: grpcroutes.gateway.networking.k8s.io is forbidden: User "curtailed-manager" cannot list`),
		ContainSubstring("give the operator the right to list and watch grpcroutes.gateway.networking.k8s.io"),
		ContainSubstring("has not answered about the HTTPRoute")))
	Expect(reason(exposed, a2av1alpha1.ConditionProgrammed)(ctx)).To(Equal(a2av1alpha1.ReasonProgrammed))

	granted := role.DeepCopy()
	granted.Rules = append(granted.Rules, withheld)
	Expect(cluster.Update(ctx, granted)).To(Succeed())
	Eventually(message).WithContext(ctx).WithTimeout(2 * time.Minute).Should(And(
		Not(ContainSubstring("cannot be read")), ContainSubstring("has not answered about the GRPCRoute")))
})

var _ = Describe("a manager in a cluster whose Gateway API comes and goes", Serial, Ordered, func() {
	var namespace string
	var crds envtest.CRDInstallOptions
	BeforeAll(func(ctx context.Context) {
		crds = gatewayCRDs(ctx)
		created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "exposed-"}}
		Expect(cluster.Create(ctx, created)).To(Succeed())
		namespace = created.Name
	})
	agent := &a2av1alpha1.Agent{}
	exposedReason := func(ctx context.Context) string {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err.Error()
		}
		return meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionExposed).Reason
	}
	route := func(ctx context.Context) (*gatewayv1.HTTPRoute, error) {
		route := &gatewayv1.HTTPRoute{}
		return route, cluster.Get(ctx, client.ObjectKeyFromObject(agent), route)
	}

	It("names what is missing", func(ctx context.Context) {
		agent.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: "echo"}
		agent.Spec = a2av1alpha1.AgentSpec{
			Description: "Says it again.",
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
			}}},
			Exposure: &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}},
		}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayAPIMissing))
	})

	It("makes the route once the API is there, and follows the Gateway and the route", func(ctx context.Context) {
		_, err := envtest.InstallCRDs(environment.Config, crds)
		Expect(err).NotTo(HaveOccurred())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayNotFound))

		gateway := &gatewayv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "public"},
			Spec: gatewayv1.GatewaySpec{GatewayClassName: "any", Listeners: []gatewayv1.Listener{
				{Name: "web", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
			}},
		}
		Expect(cluster.Create(ctx, gateway)).To(Succeed())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonRoutePending))

		made, err := route(ctx)
		Expect(err).NotTo(HaveOccurred())
		made.Status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: gatewayv1.ParentReference{Name: "public"}, ControllerName: "example.com/gateway",
			Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.Now()}},
		}}
		Expect(cluster.Status().Update(ctx, made)).To(Succeed())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonAddressUnknown))

		gateway.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.1"}}
		Expect(cluster.Status().Update(ctx, gateway)).To(Succeed())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonExposed))
		Expect(agent.Status.ExternalURL).To(Equal("http://192.0.2.1/"))

		By("a listener that selects by the labels of the Agent's namespace")
		gateway.Spec.Listeners[0].AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{
			From: new(gatewayv1.NamespacesFromSelector), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"exposed": "yes"}},
		}}
		Expect(cluster.Update(ctx, gateway)).To(Succeed())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonAddressUnknown))
		labelled := &corev1.Namespace{}
		Expect(cluster.Get(ctx, client.ObjectKey{Name: namespace}, labelled)).To(Succeed())
		labelled.Labels["exposed"] = "yes"
		Expect(cluster.Update(ctx, labelled)).To(Succeed())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonExposed))
	})

	It("looks again at who waits for an address when its holder leaves", func(ctx context.Context) {
		later := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "later"}, Spec: *agent.Spec.DeepCopy()}
		Expect(cluster.Create(ctx, later)).To(Succeed())
		reason := func(ctx context.Context) string {
			if err := cluster.Get(ctx, client.ObjectKeyFromObject(later), later); err != nil {
				return err.Error()
			}
			if exposed := meta.FindStatusCondition(later.Status.Conditions, a2av1alpha1.ConditionExposed); exposed != nil {
				return exposed.Reason
			}
			return ""
		}
		Eventually(reason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonRoutePending))
		taken, err := route(ctx)
		Expect(err).NotTo(HaveOccurred())
		its := &gatewayv1.HTTPRoute{}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(later), its)).To(Succeed())
		its.Status = taken.Status
		Expect(cluster.Status().Update(ctx, its)).To(Succeed())
		Eventually(reason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonAddressConflict))

		By("an answer about the older route")
		taken.Status.Parents[0].Conditions[0].Status = metav1.ConditionFalse
		Expect(cluster.Status().Update(ctx, taken)).To(Succeed())
		Eventually(reason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonExposed))
		taken.Status.Parents[0].Conditions[0].Status = metav1.ConditionTrue
		Expect(cluster.Status().Update(ctx, taken)).To(Succeed())
		Eventually(reason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonAddressConflict))

		By("another path of the older Agent")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		agent.Spec.Exposure.Path = "/elsewhere"
		Expect(cluster.Update(ctx, agent)).To(Succeed())
		Eventually(reason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonExposed))
		Expect(cluster.Delete(ctx, later)).To(Succeed())
	})

	It("repairs the route", func(ctx context.Context) {
		made, err := route(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.Delete(ctx, made)).To(Succeed())
		Eventually(func(ctx context.Context) bool {
			again, err := route(ctx)
			return err == nil && again.UID != made.UID
		}).WithContext(ctx).Should(BeTrue())
	})

	It("takes away what is no longer wanted", func(ctx context.Context) {
		edit := func(change func(*a2av1alpha1.AgentSpec)) {
			GinkgoHelper()
			Eventually(func(ctx context.Context) error {
				if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
					return err
				}
				change(&agent.Spec)
				return cluster.Update(ctx, agent)
			}).WithContext(ctx).Should(Succeed())
		}
		all := []client.Object{
			&gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}, &networkingv1.NetworkPolicy{},
			&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
		}
		exposure := agent.Spec.Exposure.DeepCopy()
		exposure.GRPCHostnames = []a2av1alpha1.Hostname{"grpc.example.com"}
		edit(func(spec *a2av1alpha1.AgentSpec) {
			spec.Exposure = exposure
			spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
				Type: a2av1alpha1.TaskStoreRedis, Redis: &a2av1alpha1.AgentRedis{Addresses: []string{"redis:6379"}},
			}
			spec.Workload.Autoscaling = &a2av1alpha1.AgentAutoscaling{
				MaxReplicas: 2, Metrics: []a2av1alpha1.AutoscalingMetric{{Type: a2av1alpha1.AutoscalingMetricCPU, Target: 80}},
			}
		})
		for _, obj := range all {
			Eventually(func(ctx context.Context) error { return cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj) }).
				WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		}
		edit(func(spec *a2av1alpha1.AgentSpec) {
			spec.Exposure, spec.Workload.Autoscaling = nil, nil
			spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone
		})
		for _, obj := range all {
			Eventually(func(ctx context.Context) bool {
				return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj))
			}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
		}
		edit(func(spec *a2av1alpha1.AgentSpec) { spec.Exposure = exposure })
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonRoutePending))
	})

	It("says so when the API goes, and goes on when it comes back", func(ctx context.Context) {
		uninstall(ctx, crds)
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayAPIMissing))
		Expect(agent.Status.ExternalURL).To(BeEmpty())
		_, err := envtest.InstallCRDs(environment.Config, crds)
		Expect(err).NotTo(HaveOccurred())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayNotFound))
		// One that was made just before the API went counts for a while as one that
		// the cache does not show yet.
		Eventually(func(ctx context.Context) error {
			_, err := route(ctx)
			return err
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())

		uninstall(ctx, crds)
	})
})
