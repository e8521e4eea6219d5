// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/crdwatch"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/installedcrds"
	"github.com/a2a-operator/a2a-operator/internal/operator/issuerkeys"
	"github.com/a2a-operator/a2a-operator/internal/operator/remote"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var _ = Describe("the watches of Agents", func() {
	It("reconcile the Agents of a skill after a change of its spec, and not of its status", func(ctx context.Context) {
		namespace := newFixture(ctx).namespace
		reconciles := runAgents(ctx, namespace)
		sing, fence := makeSkill(namespace, "sing", nil), makeSkill(namespace, "fence", nil)
		expectApplied(ctx, sing, fence,
			makeAgent(namespace, "singer", func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "sing"}} }),
			makeAgent(namespace, "witness", func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "fence"}} }))
		edits := 0
		edited := func(skill *a2av1alpha1.AgentSkill, agent string) {
			GinkgoHelper()
			edits++
			description := fmt.Sprintf("Edited %d times.", edits)
			expectEdited(ctx, skill, func(s *a2av1alpha1.AgentSkill) { s.Spec.Description = description })
			Eventually(func() string { return published(ctx, namespace, agent) }).WithTimeout(20 * time.Second).Should(ContainSubstring(description))
		}
		// counted writes the status of the skill sing, and waits until each Agent that the
		// write enqueued is reconciled. The single worker reconciles Agents in the order in
		// which a watch enqueues them, so counted then edits the skill of the Agent witness and
		// waits for its reconcile.
		counted := func(agents int32) {
			GinkgoHelper()
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(sing), sing)).To(Succeed())
			sing.Status.Agents = &agents
			Expect(cluster.Status().Update(ctx, sing)).To(Succeed())
			edited(fence, "witness")
		}
		edited(sing, "singer")
		// While these updates run, the worker processes the last events of the singer's own
		// objects.
		for n := range int32(3) {
			counted(n)
		}
		before := reconciles.of("singer")
		for n := range int32(5) {
			counted(10 + n)
		}
		Expect(reconciles.of("singer")).To(Equal(before), "the status of its skill changed five times")
		edited(sing, "singer")
		Expect(reconciles.of("singer")).To(BeNumerically(">", before), "the spec of its skill changed")
	})

	It("reconcile exposed Agents after a change of their namespace's labels", func(ctx context.Context) {
		namespace := newFixture(ctx).namespace
		reconciles := runAgents(ctx, namespace)
		exposed := makeAgent(namespace, "exposed", func(a *a2av1alpha1.Agent) {
			a.Spec.Exposure = &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}}
		})
		expectApplied(ctx, exposed, makeAgent(namespace, "inside"))
		for _, name := range []string{"exposed", "inside"} {
			Eventually(func() string { return published(ctx, namespace, name) }).WithTimeout(20 * time.Second).ShouldNot(BeEmpty())
		}
		labelled := &corev1.Namespace{}
		Expect(cluster.Get(ctx, client.ObjectKey{Name: namespace}, labelled)).To(Succeed())
		// The events of an Agent's own objects cause some reconciles, but fewer than the number
		// of label changes.
		const labels = 30
		before := reconciles.of("inside")
		for n := range labels {
			at := reconciles.of("exposed")
			labelled.Labels["exposed"] = fmt.Sprint(n)
			Expect(cluster.Update(ctx, labelled)).To(Succeed())
			Eventually(func() int { return reconciles.of("exposed") }).WithTimeout(20 * time.Second).Should(BeNumerically(">", at))
		}
		Expect(reconciles.of("inside")-before).To(BeNumerically("<", labels), "the Agent does not depend on the labels")
	})

	It("reconcile first the Agents that changed while no manager ran", func(ctx context.Context) {
		namespace := newFixture(ctx).namespace
		for i := range 50 {
			agent := makeAgent(namespace, fmt.Sprintf("current-%d", i))
			Expect(cluster.Create(ctx, agent)).To(Succeed())
			agent.Status.ObservedGeneration = agent.Generation
			Expect(cluster.Status().Update(ctx, agent)).To(Succeed())
		}
		overdue := makeAgent(namespace, "overdue")
		Expect(cluster.Create(ctx, overdue)).To(Succeed())
		reconciles := runAgents(ctx, namespace)
		Eventually(func() int { return len(reconciles.inOrder()) }).WithContext(ctx).WithTimeout(20 * time.Second).Should(BeNumerically(">=", 51))
		Expect(slices.Index(reconciles.inOrder(), "overdue")).To(BeNumerically("<", 10), "of %v", reconciles.inOrder())
	})
})

// published returns the JSON of the sidecar configuration of an Agent, "" while there is none.
func published(ctx context.Context, namespace, agent string) string {
	configMap := &corev1.ConfigMap{}
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.ConfigMap(agent)}, configMap); err != nil {
		return ""
	}
	return configMap.Data[sidecarconfig.FileName]
}

// reconciles records which Agents a controller reconciles.
type reconciles struct {
	client.Client

	mu  sync.Mutex
	all []string
}

// Get records the key of an Agent. Every reconcile begins with this call.
func (l *reconciles) Get(ctx context.Context, key types.NamespacedName, obj client.Object, options ...client.GetOption) error {
	if _, ok := obj.(*a2av1alpha1.Agent); ok {
		l.mu.Lock()
		l.all = append(l.all, key.Name)
		l.mu.Unlock()
	}
	return l.Client.Get(ctx, key, obj, options...)
}

func (l *reconciles) inOrder() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// of returns the number of reconciles of an Agent.
func (l *reconciles) of(agent string) int {
	n := 0
	for _, name := range l.inOrder() {
		if name == agent {
			n++
		}
	}
	return n
}

// runAgents runs the controller of Agents in a manager, with one worker and for one namespace,
// until the test spec ends.
func runAgents(ctx context.Context, namespace string) *reconciles {
	GinkgoHelper()
	counting := &reconciles{}
	mgr, err := ctrl.NewManager(environment.Config, ctrl.Options{
		Scheme:     scheme,
		Logger:     GinkgoLogr,
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: controllerconfig.Controller{SkipNameValidation: new(true)},
		NewClient: func(cluster *rest.Config, options client.Options) (client.Client, error) {
			var err error
			counting.Client, err = client.New(cluster, options)
			return counting, err
		},
	})
	Expect(err).NotTo(HaveOccurred())
	apiServer, err := issuerkeys.APIServer(mgr.GetConfig(), mgr.GetHTTPClient())
	Expect(err).NotTo(HaveOccurred())
	keys := issuerkeys.New(apiServer, nil)
	Expect(mgr.Add(keys)).To(Succeed())
	schemas := installedcrds.New(mgr.GetConfig(), mgr.GetHTTPClient(), mgr.GetAPIReader())
	Expect(mgr.Add(schemas)).To(Succeed())
	cards, kinds := remote.New(remote.Options{}), crdwatch.New(crdwatch.Config{})
	agents := NewAgentReconciler(AgentConfig{
		Client: mgr.GetClient(),
		Gather: gather.Gatherer{Live: mgr.GetAPIReader(), Issuer: keys, Remote: cards, Optional: kinds, Namespaces: []string{namespace}},
		Events: &events.FakeRecorder{}, Platform: testPlatform, Clock: clock.RealClock{},
	})
	Expect(agents.SetupWithManager(ctx, mgr, AgentWatches{Issuer: keys, Schemas: schemas, Remote: cards, Optional: kinds, MaxConcurrentReconciles: 1})).To(Succeed())
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(running) }()
	DeferCleanup(func() {
		stop()
		Expect(<-stopped).To(Succeed())
	})
	return counting
}
