//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// The forms of clusters that A2A_E2E_FORMS gives to each namespace of the suite, as a list with commas.
const (
	// formUsers gives each namespace a range of users. A policy assigns the first user of the range to pods without one, and
	// refuses pods with another user, as the security context constraint restricted-v2 of OpenShift does.
	formUsers = "users"
	// formLimits is a default memory limit of 64Mi, and formLimits128 one of 128Mi.
	formLimits    = "limits"
	formLimits128 = "limits-128"
	// formRewrite changes the requests, the images and the labels of each Deployment and of each pod.
	formRewrite = "rewrite"
	// formInjector adds an init container before the others of each pod.
	formInjector = "injector"
	// formProxy rejects all packets of pods to other networks, and configures a proxy in the chart.
	formProxy = "proxy"
)

// labelUsers has the first user of the range of a namespace.
const labelUsers = "e2e.example.com/users"

var firstUser atomic.Int64

func hasForm(form string) bool {
	return slices.Contains(strings.Split(os.Getenv("A2A_E2E_FORMS"), ","), form)
}

// formLabels returns the labels of a namespace by which the policies of the forms select it.
func formLabels() map[string]string {
	return map[string]string{labelUsers: strconv.FormatInt(1_000_700_000+10_000*firstUser.Add(1), 10)}
}

// applyForms creates the policies of the forms and the namespace of the operator, and returns the flags of helm.
func applyForms(ctx context.Context) []string {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace, Labels: formLabels()}}
		err := cluster.Create(ctx, ns)
		if apierrors.IsAlreadyExists(err) {
			err = cluster.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ns.DeletionTimestamp).To(BeNil(), "an earlier run deletes the namespace")
	}).Should(Succeed())
	if hasForm(formUsers) {
		assignUsers(ctx)
	}
	if hasForm(formRewrite) {
		// The label is that of a registry's mirror and of a team, the request that of a cluster with a smallest size of pods.
		container := func(kind, pod string) string {
			return fmt.Sprintf(`%[1]s: %[2]s.%[1]s.map(c, Object.%[3]s.%[1]s{
				name: c.name, image: c.image.startsWith("docker.io/") ? c.image : "docker.io/" + c.image,
				resources: Object.%[3]s.%[1]s.resources{requests: {"cpu": "15m"}}
			})`, kind, pod, strings.TrimPrefix(pod, "object."))
		}
		spec := func(pod string) string {
			name := "Object." + strings.TrimPrefix(pod, "object.")
			return fmt.Sprintf(`has(%[1]s.initContainers) ? %[2]s{%[3]s, %[4]s} : %[2]s{%[3]s}`, pod, name, container("containers", pod), container("initContainers", pod))
		}
		mutate(ctx, formRewrite+"-pods", "", "pods", admissionv1.ApplyConfiguration{Expression: `Object{
			metadata: Object.metadata{labels: {"team": "search"}}, spec: ` + spec("object.spec") + `}`}, admissionv1.Create)
		mutate(ctx, formRewrite+"-deployments", "apps", "deployments", admissionv1.ApplyConfiguration{Expression: `Object{
			metadata: Object.metadata{labels: {"team": "search"}},
			spec: Object.spec{template: Object.spec.template{spec: ` + spec("object.spec.template.spec") + `}}}`}, admissionv1.Create, admissionv1.Update)
	}
	if hasForm(formInjector) {
		mutate(ctx, formInjector, "", "pods", injection, admissionv1.Create)
	}
	if hasForm(formProxy) {
		rejectOtherNetworks(ctx)
		return []string{"--set", "egress.proxy.url=" + startEgressProxy(ctx).url}
	}
	return nil
}

// formObjects creates the objects of the forms in a namespace.
func formObjects(ctx context.Context, namespace string) {
	GinkgoHelper()
	limits := map[string]string{formLimits: "64Mi", formLimits128: "128Mi"}
	for form, memory := range limits {
		if hasForm(form) {
			limitMemory(ctx, namespace, memory)
		}
	}
}

// limitMemory gives the containers of a namespace a default memory limit, in place of the former one.
func limitMemory(ctx context.Context, namespace, memory string) {
	GinkgoHelper()
	limits := &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "limits"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type:           corev1.LimitTypeContainer,
			Default:        corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
			DefaultRequest: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")},
		}}},
	}
	Expect(client.IgnoreNotFound(cluster.Delete(ctx, limits.DeepCopy()))).To(Succeed())
	Expect(cluster.Create(ctx, limits)).To(Succeed())
}

// inLabelled matches requests for a kind in the namespaces of the suite.
func inLabelled(group, kinds string, operations ...admissionv1.OperationType) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: labelUsers, Operator: metav1.LabelSelectorOpExists}}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: operations,
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{kinds}},
		}}},
	}
}

// mutate creates a MutatingAdmissionPolicy until the end of the suite.
func mutate(ctx context.Context, name, group, kinds string, mutation any, operations ...admissionv1.OperationType) {
	GinkgoHelper()
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "form-" + name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy, MatchConstraints: inLabelled(group, kinds, operations...),
		},
	}
	switch m := mutation.(type) {
	case admissionv1.ApplyConfiguration:
		policy.Spec.Mutations = []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &m}}
	case admissionv1.JSONPatch:
		policy.Spec.Mutations = []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &m}}
	}
	keep(ctx, policy, &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	})
	if kinds != "pods" {
		return
	}
	Eventually(ctx, func(g Gomega) {
		pod := restrictedPod(operatorNamespace)
		before := pod.DeepCopy()
		g.Expect(cluster.Create(ctx, pod, client.DryRunAll)).To(Succeed())
		changed := len(pod.Spec.InitContainers) > len(before.Spec.InitContainers) || pod.Labels["team"] != "" || pod.Spec.SecurityContext.RunAsUser != nil
		g.Expect(changed).To(BeTrue(), "the policy %s is in effect", name)
	}).Should(Succeed())
}

// keep creates objects until the end of the suite.
func keep(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(cluster.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(cluster.Delete(ctx, object))).To(Succeed()) })
	}
}

// assignUsers creates the policies of formUsers.
func assignUsers(ctx context.Context) {
	GinkgoHelper()
	const first = `int(namespaceObject.metadata.labels["` + labelUsers + `"])`
	mutate(ctx, formUsers, "", "pods", admissionv1.ApplyConfiguration{Expression: `has(object.spec.securityContext) && has(object.spec.securityContext.runAsUser) ?
		Object{} : Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsUser: ` + first + `, fsGroup: ` + first + `}}}`}, admissionv1.Create)
	inRange := func(of string) string {
		return fmt.Sprintf("(!has(%[1]s.securityContext) || !has(%[1]s.securityContext.runAsUser) || (%[1]s.securityContext.runAsUser >= %[2]s && %[1]s.securityContext.runAsUser < %[2]s + 10000))", of, first)
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "form-" + formUsers},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: inLabelled("", "pods", admissionv1.Create),
			Validations: []admissionv1.Validation{{
				Expression: inRange("object.spec") + " && object.spec.containers.all(c, " + inRange("c") + ") && (!has(object.spec.initContainers) || object.spec.initContainers.all(c, " + inRange("c") + "))",
				Message:    "runAsUser must be in the range of the namespace",
			}},
		},
	}
	keep(ctx, policy, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	})
	Eventually(ctx, func() error {
		pod := restrictedPod(operatorNamespace)
		pod.Spec.Containers[0].SecurityContext.RunAsUser = new(int64(65532))
		return cluster.Create(ctx, pod, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("runAsUser must be in the range")))
}

// rejectOtherNetworks rejects packets of pods to other networks than that of the node, until the end of the suite.
func rejectOtherNetworks(ctx context.Context) {
	GinkgoHelper()
	for _, program := range []string{"iptables", "ip6tables"} {
		rule := []string{"FORWARD", "-i", "a2a0", "!", "-o", "a2a0", "-j", "REJECT"}
		Expect(exec.CommandContext(ctx, program, append([]string{"-w", "-I"}, rule...)...).Run()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(exec.CommandContext(ctx, program, append([]string{"-w", "-D"}, rule...)...).Run()).To(Succeed())
		})
	}
}

// egressProxy is an HTTP proxy at the address of the node. It records the tunnels that it is asked for, and opens none.
type egressProxy struct {
	url string

	mu      sync.Mutex
	tunnels []string
}

// startEgressProxy runs a proxy until the end of the test or of the suite.
func startEgressProxy(ctx context.Context) *egressProxy {
	GinkgoHelper()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(nodeAddress(ctx), "0"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(listener.Close)
	proxy := &egressProxy{url: "http://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go proxy.serve(connection)
		}
	}()
	return proxy
}

func (p *egressProxy) serve(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	request, err := http.ReadRequest(bufio.NewReader(connection))
	if err != nil {
		return
	}
	user, password, _ := (&http.Request{Header: http.Header{"Authorization": request.Header["Proxy-Authorization"]}}).BasicAuth()
	p.mu.Lock()
	p.tunnels = append(p.tunnels, strings.Join([]string{request.Method, request.Host, user, password}, " "))
	p.mu.Unlock()
	_, _ = connection.Write([]byte("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"))
}

func (p *egressProxy) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tunnels)
}

var _ = Describe("An egress proxy", func() {
	It("gets the connections to public servers with the login of the Secret, and no others", func(ctx SpecContext) {
		ns := namespace(ctx)
		proxy := startEgressProxy(ctx)
		Expect(cluster.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "login"}, Type: corev1.SecretTypeBasicAuth,
			StringData: map[string]string{corev1.BasicAuthUsernameKey: "agents", corev1.BasicAuthPasswordKey: "only-for-this-test"},
		})).To(Succeed())
		agent := create(ctx, &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "outward"},
			Spec: a2av1alpha1.AgentSpec{
				Description: "Asks a public model.",
				Model: &a2av1alpha1.AgentModel{URL: "https://models.example.com/v1", Tools: []a2av1alpha1.ModelTool{
					{MCP: &a2av1alpha1.MCPTool{URL: "http://nobody." + ns + ".svc/mcp"}},
				}},
				Egress: &a2av1alpha1.AgentEgress{Proxy: &a2av1alpha1.EgressProxy{URL: proxy.url, SecretRef: &a2av1alpha1.SecretReference{Name: "login"}}},
			},
		})
		Eventually(ctx, func() string { return describe(ctx, agent, a2av1alpha1.ConditionAvailable) }).
			Should(And(HavePrefix("False ModelServerUnreachable"), ContainSubstring("status 502"), ContainSubstring("spec.egress.proxy")))
		Eventually(ctx, func() string { return describe(ctx, agent, a2av1alpha1.ConditionToolsAvailable) }).Should(HavePrefix("False MCPServerUnreachable"))
		Expect(proxy.seen()).NotTo(BeEmpty())
		Expect(proxy.seen()).To(HaveEach("CONNECT models.example.com:443 agents only-for-this-test"))
	})
})
