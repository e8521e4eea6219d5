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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

// gatewayCRDs returns the CRDs of the Gateway API.
func gatewayCRDs(ctx context.Context) envtest.CRDInstallOptions {
	GinkgoHelper()
	files, err := controlplane.GatewayAPI(ctx)
	Expect(err).NotTo(HaveOccurred())
	return envtest.CRDInstallOptions{Paths: files, MaxTime: time.Minute}
}

// createExposed creates an Agent with spec.exposure.
func createExposed(ctx context.Context, namespace string, grpc ...a2av1alpha1.Hostname) *a2av1alpha1.Agent {
	GinkgoHelper()
	agent := makeAgent(namespace, "exposed")
	agent.Spec.Exposure = &a2av1alpha1.AgentExposure{
		ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}, URL: "https://echo.example.com/", GRPCHostnames: grpc,
	}
	Expect(cluster.Create(ctx, agent)).To(Succeed())
	return agent
}

// uninstall deletes CRDs and waits until the API server has deleted them.
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

var _ = It("creates a route that an old Gateway API rejected after an upgrade of its CRDs", Serial, func(ctx context.Context) {
	crds := gatewayCRDs(ctx)
	file := slices.IndexFunc(crds.Paths, func(path string) bool { return strings.HasSuffix(path, gather.HTTPRoutes.Resource+".yaml") })
	text, err := os.ReadFile(crds.Paths[file])
	Expect(err).NotTo(HaveOccurred())
	routes := &apiextensionsv1.CustomResourceDefinition{}
	Expect(yaml.Unmarshal(text, routes)).To(Succeed())
	for i := range routes.Spec.Versions {
		// The schema of v1.1 has no timeouts.
		rules := routes.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties["rules"].Items.Schema
		Expect(rules.Properties).To(HaveKey("timeouts"))
		delete(rules.Properties, "timeouts")
	}
	old := crds
	old.Paths, old.CRDs = slices.Delete(slices.Clone(crds.Paths), file, file+1), []*apiextensionsv1.CustomResourceDefinition{routes}
	_, err = envtest.InstallCRDs(environment.Config, old)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(uninstall, crds)

	agent := createExposed(ctx, createNamespace(ctx, "early-"))
	exposure := message(agent, a2av1alpha1.ConditionExposed)
	Eventually(exposure).WithContext(ctx).WithTimeout(time.Minute).Should(And(
		ContainSubstring(".timeouts: field not declared in schema"), ContainSubstring("install the Gateway API v1.2 or later"),
		Not(ContainSubstring("has not reported a status"))))

	By("upgrading the CRDs")
	_, err = envtest.InstallCRDs(environment.Config, crds)
	Expect(err).NotTo(HaveOccurred())
	// If the API server has not loaded the new schema yet, it rejects the route again, and the
	// operator retries a minute later.
	Eventually(exposure).WithContext(ctx).WithTimeout(90 * time.Second).Should(ContainSubstring("has not reported a status for the HTTPRoute"))
})

var _ = It("serves all Agents except those that need a kind that it may not read", Serial, func(ctx context.Context) {
	crds := gatewayCRDs(ctx)
	_, err := envtest.InstallCRDs(environment.Config, crds)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(uninstall, crds)
	const limited = "limited-manager"
	user, err := environment.AddUser(envtest.User{Name: limited}, nil)
	Expect(err).NotTo(HaveOccurred())
	role := managerRole()
	role.Name = limited
	withheld := rbacv1.PolicyRule{APIGroups: []string{gather.GRPCRoutes.Group}, Resources: []string{gather.GRPCRoutes.Resource}, Verbs: []string{"list", "watch", "create", "patch", "delete"}}
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == gather.GRPCRoutes.Resource })
	}
	grant(limited, role)
	grantNamespaced(limited)

	stop()
	namespace := createNamespace(ctx, "limited-")
	echo := createAgent(ctx, namespace, "echo")
	exposed := createExposed(ctx, namespace, "grpc.example.com")
	stop = startManager(user.Config(), GinkgoLogr)
	defer func() {
		stop()
		stop = start()
	}()
	exposure := message(exposed, a2av1alpha1.ConditionExposed)
	Eventually(reason(echo, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonProgrammed))
	Eventually(exposure).WithContext(ctx).WithTimeout(time.Minute).Should(And(
		ContainSubstring(`The operator cannot read GRPCRoutes: grpcroutes.gateway.networking.k8s.io is forbidden: User "limited-manager" cannot list`),
		ContainSubstring("allow it to list and watch grpcroutes.gateway.networking.k8s.io"),
		ContainSubstring("has not reported a status for the HTTPRoute")))
	Expect(reason(exposed, a2av1alpha1.ConditionProgrammed)(ctx)).To(Equal(a2av1alpha1.ReasonProgrammed))

	granted := role.DeepCopy()
	granted.Rules = append(granted.Rules, withheld)
	Expect(cluster.Update(ctx, granted)).To(Succeed())
	Eventually(exposure).WithContext(ctx).WithTimeout(2 * time.Minute).Should(And(
		Not(ContainSubstring("cannot read")), ContainSubstring("has not reported a status for the GRPCRoute")))
})

var _ = Describe("a manager in a cluster whose Gateway API is installed and removed", Serial, Ordered, func() {
	var namespace string
	var crds envtest.CRDInstallOptions
	BeforeAll(func(ctx context.Context) {
		crds = gatewayCRDs(ctx)
		namespace = createNamespace(ctx, "exposed-")
	})
	agent := &a2av1alpha1.Agent{}
	exposedReason := reason(agent, a2av1alpha1.ConditionExposed)
	route := func(ctx context.Context) (*gatewayv1.HTTPRoute, error) {
		route := &gatewayv1.HTTPRoute{}
		return route, cluster.Get(ctx, client.ObjectKeyFromObject(agent), route)
	}

	It("reports the missing kinds", func(ctx context.Context) {
		*agent = *makeAgent(namespace, "echo")
		agent.Spec.Exposure = &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}}
		Expect(cluster.Create(ctx, agent)).To(Succeed())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayAPIMissing))
	})

	It("creates the route after the installation, and follows the Gateway and the route", func(ctx context.Context) {
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

		created, err := route(ctx)
		Expect(err).NotTo(HaveOccurred())
		created.Status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: gatewayv1.ParentReference{Name: "public"}, ControllerName: "example.com/gateway",
			Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.Now()}},
		}}
		Expect(cluster.Status().Update(ctx, created)).To(Succeed())
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

	It("reconciles an Agent that waits for an address when the other Agent releases it", func(ctx context.Context) {
		later := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "later"}, Spec: *agent.Spec.DeepCopy()}
		Expect(cluster.Create(ctx, later)).To(Succeed())
		laterReason := reason(later, a2av1alpha1.ConditionExposed)
		Eventually(laterReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonRoutePending))
		older, err := route(ctx)
		Expect(err).NotTo(HaveOccurred())
		laterRoute := &gatewayv1.HTTPRoute{}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(later), laterRoute)).To(Succeed())
		laterRoute.Status = older.Status
		Expect(cluster.Status().Update(ctx, laterRoute)).To(Succeed())
		Eventually(laterReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonAddressConflict))

		By("another status of the older route")
		older.Status.Parents[0].Conditions[0].Status = metav1.ConditionFalse
		Expect(cluster.Status().Update(ctx, older)).To(Succeed())
		Eventually(laterReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonExposed))
		older.Status.Parents[0].Conditions[0].Status = metav1.ConditionTrue
		Expect(cluster.Status().Update(ctx, older)).To(Succeed())
		Eventually(laterReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonAddressConflict))

		By("another path of the older Agent")
		base := client.MergeFrom(agent.DeepCopy())
		agent.Spec.Exposure.Path = "/other"
		Expect(cluster.Patch(ctx, agent, base)).To(Succeed())
		Eventually(laterReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonExposed))
		Expect(cluster.Delete(ctx, later)).To(Succeed())
	})

	It("repairs the route", func(ctx context.Context) {
		created, err := route(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.Delete(ctx, created)).To(Succeed())
		Eventually(func(ctx context.Context) bool {
			again, err := route(ctx)
			return err == nil && again.UID != created.UID
		}).WithContext(ctx).Should(BeTrue())
	})

	It("deletes objects that are no longer desired", func(ctx context.Context) {
		all := []client.Object{
			&gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}, &networkingv1.NetworkPolicy{},
			&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
		}
		exposure := agent.Spec.Exposure.DeepCopy()
		exposure.GRPCHostnames = []a2av1alpha1.Hostname{"grpc.example.com"}
		editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) {
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
		editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) {
			spec.Exposure, spec.Workload.Autoscaling = nil, nil
			spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone
		})
		for _, obj := range all {
			Eventually(func(ctx context.Context) bool {
				return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(agent), obj))
			}).WithContext(ctx).WithTimeout(time.Minute).Should(BeTrue())
		}
		editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) { spec.Exposure = exposure })
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonRoutePending))
	})

	It("reports the removal of the API, and continues after another installation", func(ctx context.Context) {
		uninstall(ctx, crds)
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayAPIMissing))
		Expect(agent.Status.ExternalURL).To(BeEmpty())
		_, err := envtest.InstallCRDs(environment.Config, crds)
		Expect(err).NotTo(HaveOccurred())
		Eventually(exposedReason).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonGatewayNotFound))
		// The operator may have created the route just before the CRD was removed. For some
		// seconds after a creation, it assumes that the route exists although its cache does
		// not show it, so it creates the route again only later.
		Eventually(func(ctx context.Context) error {
			_, err := route(ctx)
			return err
		}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())

		uninstall(ctx, crds)
	})
})
