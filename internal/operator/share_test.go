// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// hostileSpecs are the specs that cost most, each in an own Agent. number makes the texts of each
// Agent different, so that no cache helps.
func hostileSpecs(number int) []func(*a2av1alpha1.AgentSpec) {
	schema := func(text string) func(*a2av1alpha1.AgentSpec) {
		return func(spec *a2av1alpha1.AgentSpec) {
			spec.Skills = []a2av1alpha1.Skill{{ID: "s", SkillDetails: a2av1alpha1.SkillDetails{
				Name: "s", Description: "S.", Tags: []string{"s"}, InputSchema: &runtime.RawExtension{Raw: []byte(text)},
			}}}
		}
	}
	rules := func(expression string) func(*a2av1alpha1.AgentSpec) {
		return func(spec *a2av1alpha1.AgentSpec) {
			for i := range 32 {
				spec.Access.Authorization = append(spec.Access.Authorization, a2av1alpha1.AuthorizationRule{
					Action: a2av1alpha1.AuthorizationAllow, Expression: fmt.Sprintf("%d==%d||%s", number, i, expression),
				})
			}
		}
	}
	return []func(*a2av1alpha1.AgentSpec){
		schema(fmt.Sprintf(`{"$comment":"%d","items":%s{}%s}`, number, strings.Repeat(`{"items":`, 2700), strings.Repeat("}", 2700))),
		schema(fmt.Sprintf(`{"$comment":"%d","multipleOf":1e-999999999}`, number)),
		schema(fmt.Sprintf(`{"$comment":"%d","properties":{"%s":{"enum":[0%s]}}}`, number, strings.Repeat("k", 20_000), strings.Repeat(",{}", 1900))),
		rules(strings.Repeat("type({1:", 95) + "1" + strings.Repeat("})", 95) + "==1"),
		rules("[1]" + strings.Repeat(".map(a,{a:a})", 70) + "==[]"),
	}
}

// createHostile creates count Agents of each of the hostileSpecs.
func createHostile(ctx context.Context, namespace string, count int) []*a2av1alpha1.Agent {
	GinkgoHelper()
	var created []*a2av1alpha1.Agent
	for number := range count {
		for kind, change := range hostileSpecs(number) {
			agent := makeAgent(namespace, fmt.Sprintf("costly-%d-%d", kind, number))
			change(&agent.Spec)
			Expect(cluster.Create(ctx, agent)).To(Succeed())
			created = append(created, agent)
		}
	}
	return created
}

// deleteAgents deletes the Agents of a namespace, so that the next specs do not wait for their events: the requests for events
// have a limit of their own.
func deleteAgents(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(cluster.DeleteAllOf(ctx, &a2av1alpha1.Agent{}, client.InNamespace(namespace))).To(Succeed())
}

var _ = It("gives each namespace its share, also while another one costs as much as it can", func(ctx context.Context) {
	hostile, quiet := createNamespace(ctx, "hostile-"), createNamespace(ctx, "quiet-")
	refused := createHostile(ctx, hostile, 6)
	DeferCleanup(deleteAgents, hostile)
	agent := createAgent(ctx, quiet, "echo")
	began := time.Now()
	Eventually(func(ctx context.Context) error {
		return cluster.Get(ctx, client.ObjectKeyFromObject(agent), &appsv1.Deployment{})
	}).WithContext(ctx).Should(Succeed())
	GinkgoWriter.Println("the Deployment of the other namespace exists after", time.Since(began))

	for _, agent := range refused {
		condition := a2av1alpha1.ConditionSkillsResolved
		want := a2av1alpha1.ReasonInvalidSchema
		if len(agent.Spec.Skills) == 0 {
			condition = a2av1alpha1.ConditionAccepted
			want = a2av1alpha1.ReasonInvalidAuthorization
		}
		Eventually(currentReason(agent, condition)).WithContext(ctx).Should(Equal(want), agent.Name)
	}
})

var _ = It("ends on SIGTERM while Agents wait that cost as much as they can", Serial, func(ctx context.Context) {
	stop()
	defer func() { stop = start() }()
	namespace := createNamespace(ctx, "hostile-")
	refused := createHostile(ctx, namespace, 10)
	defer deleteAgents(ctx, namespace)
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(path, environment.KubeConfig, 0o600)).To(Succeed())
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), managerKubeconfig+"="+path)
	manager, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(manager.Kill)

	reconciled := func(ctx context.Context) (count int) {
		list := &a2av1alpha1.AgentList{}
		if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return 0
		}
		for i := range list.Items {
			if list.Items[i].Status.ObservedGeneration > 0 {
				count++
			}
		}
		return count
	}
	Eventually(reconciled).WithContext(ctx).Should(BeNumerically(">", 0))
	manager.Signal(syscall.SIGTERM)
	began := time.Now()
	Eventually(manager).WithContext(ctx).WithTimeout(10 * time.Second).Should(gexec.Exit(0))
	GinkgoWriter.Println("the manager ends after", time.Since(began), "with", reconciled(ctx), "of", len(refused), "Agents reconciled")
})
