//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the product on a real node, installed by its chart. Like users, it calls agents through their
// Services, with tokens, and mostly with the official SDKs. `make test-e2e` prepares the node, the images and the
// variables that the suite reads.
package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	operatorNamespace = "a2a-system"
	release           = "a2a-operator"
	testAgentImage    = "a2a-operator/test-agent:dev"
)

// clusterDomain is the DNS domain of the cluster.
var clusterDomain = cmp.Or(os.Getenv("A2A_E2E_DOMAIN"), "cluster.local")

// formFlags are the flags of helm that the form of the cluster needs.
var formFlags []string

var (
	cluster   client.Client
	clientset *kubernetes.Clientset
	// anonymous is the configuration of clients of the API server without a credential.
	anonymous *rest.Config
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(60 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "on a real node")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	config, err := clientcmd.BuildConfigFromFlags("", setting("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	anonymous = rest.AnonymousClientConfig(config)
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(a2av1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(gatewayv1.Install(scheme)).To(Succeed())
	cluster, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	clientset, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())

	formFlags = applyForms(ctx)
	By("installing the chart")
	installChart(ctx)
})

// installChart installs the chart with the values of the suite and more flags of helm, and waits for the managers. Both managers are
// replaced at the same time, and are ready as soon as they can be.
func installChart(ctx context.Context, flags ...string) {
	GinkgoHelper()
	run(ctx, setting("HELM"), append([]string{
		"upgrade", "--install", release, setting("CHART"),
		"--namespace", operatorNamespace, "--create-namespace", "--wait", "--timeout", "3m",
		"--set", "image.repository=a2a-operator/manager", "--set", "image.tag=dev",
		"--set", "sidecar.image.repository=a2a-operator/sidecar", "--set", "sidecar.image.tag=dev",
		"--set", "replicas=2", "--set", "strategy.rollingUpdate.maxSurge=2", "--set", "readinessProbe.periodSeconds=1",
	}, slices.Concat(formFlags, flags)...)...)
	// The kubelet updates the files of a ConfigMap about every minute, and at once after a change of the pod.
	managers := &corev1.PodList{}
	Expect(cluster.List(ctx, managers, client.InNamespace(operatorNamespace))).To(Succeed())
	touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/touched":%q}}}`, time.Now())
	for i := range managers.Items {
		Expect(client.IgnoreNotFound(cluster.Patch(ctx, &managers.Items[i], client.RawPatch(types.MergePatchType, touch)))).To(Succeed())
	}
}

// scaleOperator sets the number of managers, and waits for them.
func scaleOperator(ctx context.Context, replicas int32) {
	GinkgoHelper()
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: release + "-manager"}}
	Expect(cluster.Patch(ctx, manager, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)))).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(cluster.Get(ctx, client.ObjectKeyFromObject(manager), manager)).To(Succeed())
		g.Expect(manager.Status.ReadyReplicas).To(Equal(replicas))
		g.Expect(manager.Status.Replicas).To(Equal(replicas))
	}).Should(Succeed())
}

// stopOperator stops all managers until the end of the test.
func stopOperator(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { scaleOperator(ctx, 2) })
	scaleOperator(ctx, 0)
}

var _ = AfterSuite(func(ctx SpecContext) {
	if cluster == nil {
		return
	}
	By("waiting for the deletion of all namespaces")
	for _, ns := range namespaces {
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(cluster.Get(ctx, client.ObjectKeyFromObject(ns), ns))
		}).WithTimeout(2*time.Minute).Should(BeTrue(), ns.Name)
	}
	By("uninstalling the chart")
	run(ctx, setting("HELM"), "uninstall", release, "--namespace", operatorNamespace, "--wait", "--timeout", "2m")
	By("checking that only the CRDs are left")
	Expect(cluster.List(ctx, &a2av1alpha1.AgentList{})).To(Succeed())
	pods := &corev1.PodList{}
	Expect(cluster.List(ctx, pods, client.InNamespace(operatorNamespace))).To(Succeed())
	for _, pod := range pods.Items {
		Expect(pod.DeletionTimestamp).NotTo(BeNil(), "pod %s", pod.Name)
	}
	Expect(cluster.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})).To(Succeed())
})

// setting returns the value of a variable that `make test-e2e` sets.
func setting(name string) string {
	GinkgoHelper()
	value := os.Getenv(name)
	if value == "" {
		Fail(name + " is not set: run the suite by make test-e2e")
	}
	return value
}

// run runs a command line. Its first word may hold a command with arguments.
func run(ctx context.Context, command string, args ...string) {
	GinkgoHelper()
	words := append(strings.Fields(command), args...)
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", strings.Join(words, " "), out)
}

// namespaces are the namespaces of all tests. Each is deleted after its test; the end of the suite waits for the
// deletions.
var namespaces []*corev1.Namespace

// namespace creates a namespace that admits only restricted pods. It is deleted with its objects after the test.
func namespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels:       formLabels(),
	}}
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	Expect(cluster.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(cluster.Delete(ctx, ns))).To(Succeed())
	})
	namespaces = append(namespaces, ns)
	formObjects(ctx, ns.Name)
	return ns.Name
}
