// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator"
)

const (
	// poisonLabel selects the skills that are too large together.
	poisonLabel = "example.com/poison"
	// poisonSkills and poisonSize make 10 MB of skills, of which each is valid.
	poisonSkills, poisonSize = 160, 64_000
	// maxDelay is the goal for the ratio of two times until Ready: of the other Agents with poison, and of the same Agents
	// without poison.
	maxDelay = 1.2
	// waveCount is the number of measurements with poison, and the number of those without.
	waveCount = 5
)

// agentCount returns the number of Agents besides the poison.
func agentCount() int {
	if n, err := strconv.Atoi(os.Getenv("CHAOS_AGENTS")); err == nil {
		return n
	}
	return 200
}

// TestInvalidAgentsDoNotBlockOthers is the campaign "poison" of docs/explanation/reliability.md. Among many Agents
// there are Agents with 10 MB of skills, with an endless card and with a container that crashes again and again.
// The others must be ready as soon as without them.
func TestInvalidAgentsDoNotBlockOthers(t *testing.T) {
	if !full {
		t.Skip("it takes minutes; make chaos runs it")
	}
	endless, allowed := serveRemote(t, endlessCard)
	var pure, poisoned []wave
	// The waves alternate, so that other load on the machine affects both kinds.
	for i := range waveCount {
		for _, poison := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d poison %v", i, poison), func(t *testing.T) {
				b := newBench(t, "chaos-poison", func(b *bench) {
					b.runTimeout = runTimeout * time.Duration(1+agentCount()/200)
					b.settings = func(c *operator.Config) {
						c.MaxConcurrentReconciles = operator.Defaults().MaxConcurrentReconciles
						c.RemoteAllow = allowed
					}
				})
				if poison {
					b.poison(endless)
				}
				before, written := workSoFar(t), len(b.transport.writesSince(0))
				w := wave{p99: b.createMany(agentCount()), work: workSoFar(t).since(before)}
				for _, write := range b.transport.writesSince(written) {
					if w.writes++; strings.Contains(write, "/poison-") {
						w.poison++
					}
				}
				t.Log(w)
				if poison {
					poisoned = append(poisoned, w)
				} else {
					pure = append(pure, w)
				}
			})
		}
	}
	if t.Failed() || len(pure) == 0 || len(poisoned) == 0 {
		return
	}
	least, most := medianWave(pure), medianWave(poisoned)
	ratio := float64(most.p99) / float64(least.p99)
	t.Logf("%d Agents, p99 until Ready: %s without, %s with poison, the medians of %d waves: %.2f times",
		agentCount(), least.p99.Round(time.Millisecond), most.p99.Round(time.Millisecond), len(pure), ratio)
	// Times that are measured on a shared machine are figures and cause no failure.
	if ratio > maxDelay {
		t.Logf("the goal of %.2f times is not reached", maxDelay)
	}
}

// wave is the result of one wave.
type wave struct {
	p99 time.Duration
	work
	// writes is the number of the operator's writes, poison the number of those about poison
	// Agents.
	writes, poison int
}

func (w wave) String() string {
	return fmt.Sprintf("p99 %s; %s; %d writes, %d of them about poison", w.p99.Round(time.Millisecond), w.work, w.writes, w.poison)
}

// medianWave returns the wave with the median.
func medianWave(of []wave) wave {
	slices.SortFunc(of, func(a, b wave) int { return cmp.Compare(a.p99, b.p99) })
	return of[len(of)/2]
}

// work is the work of the controller of Agents: the number of reconciles, their duration, and the
// time in the queue. Other load on the machine increases it for both kinds of waves.
type work struct {
	reconciles          uint64
	reconciling, queued time.Duration
}

func (w work) String() string {
	each := time.Duration(max(1, w.reconciles))
	return fmt.Sprintf("%d reconciles of %s, each after %s in the queue", w.reconciles, (w.reconciling / each).Round(time.Microsecond), (w.queued / each).Round(time.Microsecond))
}

func (w work) since(before work) work {
	return work{reconciles: w.reconciles - before.reconciles, reconciling: w.reconciling - before.reconciling, queued: w.queued - before.queued}
}

// workSoFar returns the work of all operators of this process.
func workSoFar(t *testing.T) work {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var w work
	for _, family := range families {
		for _, m := range family.GetMetric() {
			ours := false
			for _, label := range m.GetLabel() {
				ours = ours || label.GetName() == "controller" && label.GetValue() == "a2a-agent"
			}
			if !ours {
				continue
			}
			sum := time.Duration(m.GetHistogram().GetSampleSum() * float64(time.Second))
			switch family.GetName() {
			case "controller_runtime_reconcile_time_seconds":
				w.reconciles, w.reconciling = w.reconciles+m.GetHistogram().GetSampleCount(), w.reconciling+sum
			case "workqueue_queue_duration_seconds":
				w.queued += sum
			}
		}
	}
	return w
}

// endlessCard sends a card without an end.
func endlessCard(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"name":"`))
	piece := []byte(strings.Repeat("x", 16<<10))
	for r.Context().Err() == nil {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// poison creates Agents that could harm the operator.
func (b *bench) poison(card string) {
	b.t.Helper()
	ctx := b.t.Context()
	large := runtime.RawExtension{Raw: []byte(`{"type":"object","description":"` + strings.Repeat("x", poisonSize) + `"}`)}
	for i := range poisonSkills {
		skill := b.user.skill()
		skill.Name = fmt.Sprintf("poison-%d", i)
		skill.Labels = map[string]string{poisonLabel: "true"}
		skill.Spec.InputSchema = &large
		if err := cluster.Create(ctx, skill); err != nil {
			b.t.Fatal(err)
		}
	}
	heavy := b.user.agent()
	heavy.Name = "poison-heavy"
	heavy.Spec.SkillRefs, heavy.Spec.SkillSelector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{poisonLabel: "true"}}
	endless := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "poison-endless"}}
	endless.Spec.Remote = &a2av1alpha1.AgentRemote{URL: card}
	crashing := b.user.agent()
	crashing.Name, crashing.Spec.SkillRefs = "poison-crashing", nil
	for _, agent := range []*a2av1alpha1.Agent{heavy, endless, crashing} {
		if err := cluster.Create(ctx, agent); err != nil {
			b.t.Fatal(err)
		}
	}
	done := make(chan struct{})
	crashes, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(done)
		b.crashes(crashes, crashing.Name)
	}()
	b.t.Cleanup(func() { cancel(); <-done })
	b.eventually("the conditions of the poison", func() string {
		return b.lacks(heavy, a2av1alpha1.ConditionSkillsResolved, a2av1alpha1.ReasonCardTooLarge) + b.lacks(endless, a2av1alpha1.ConditionAvailable, a2av1alpha1.ReasonRemoteCardInvalid)
	})
}

// lacks returns "" if a condition of an Agent is False for the reason, and otherwise all conditions of the Agent.
func (b *bench) lacks(of *a2av1alpha1.Agent, condition, reason string) string {
	agent := of.DeepCopy()
	if err := seen.cache.Get(b.t.Context(), client.ObjectKeyFromObject(of), agent); err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(agent.Status.Conditions, condition)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason {
		return fmt.Sprint(agent.Status.Conditions)
	}
	return ""
}

// crashes makes the container of an agent end and start, ten times a second.
func (b *bench) crashes(ctx context.Context, agent string) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for restarts := int32(1); ; restarts++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pods := &corev1.PodList{}
		if seen.cache.List(ctx, pods, client.InNamespace(b.namespace), client.MatchingLabels{a2av1alpha1.LabelAgent: agent}) != nil {
			continue
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
			if restarts%2 == 0 {
				state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			}
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "agent", RestartCount: restarts, State: state,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}},
			}}
			_ = cluster.Status().Update(ctx, pod)
		}
	}
}

// createMany creates many Agents and returns the 99th percentile of the time until they are ready.
func (b *bench) createMany(n int) time.Duration {
	b.t.Helper()
	ctx := b.t.Context()
	began, took := map[string]time.Time{}, map[string]time.Duration{}
	for i := range n {
		agent := b.user.agent()
		agent.Name, agent.Spec.SkillRefs = fmt.Sprintf("echo-%d", i), nil
		began[agent.Name] = time.Now()
		if err := cluster.Create(ctx, agent); err != nil {
			b.t.Fatal(err)
		}
	}
	b.eventually("all Agents to be ready", func() string {
		list := &a2av1alpha1.AgentList{}
		if err := seen.cache.List(ctx, list, client.InNamespace(b.namespace), client.UnsafeDisableDeepCopy); err != nil {
			return err.Error()
		}
		last := ""
		for i := range list.Items {
			agent := &list.Items[i]
			start, ours := began[agent.Name]
			if !ours || took[agent.Name] > 0 {
				continue
			}
			if meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionReady) {
				took[agent.Name] = time.Since(start)
			} else {
				last = fmt.Sprintf("%s is not: %v", agent.Name, agent.Status.Conditions)
			}
		}
		if len(took) < n {
			return fmt.Sprintf("%d of %d are ready, %s", len(took), n, last)
		}
		return ""
	})
	var all []time.Duration
	for _, d := range took {
		all = append(all, d)
	}
	slices.Sort(all)
	p99 := all[len(all)*99/100]
	b.t.Logf("p50 %s, p99 %s", all[len(all)/2].Round(time.Millisecond), p99.Round(time.Millisecond))
	return p99
}
