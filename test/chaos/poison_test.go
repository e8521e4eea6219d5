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
	// poisonSkills and poisonSize are 10 MB of skills, of which each is accepted.
	poisonSkills, poisonSize = 160, 64_000
	// worse is how much later the others may be ready.
	worse = 1.2
	// waves are how often that is measured, with and without.
	waves = 5
)

// crowd is how many Agents there are, beside those that are poison.
func crowd() int {
	if n, err := strconv.Atoi(os.Getenv("CHAOS_AGENTS")); err == nil {
		return n
	}
	return 200
}

// TestPoisonAgents has Agents with 10 MB of skills, with a card that never ends
// and with a container that crashes again and again among many others, which
// must be ready as soon as without them: C10 of the reliability plan.
func TestPoisonAgents(t *testing.T) {
	if !full {
		t.Skip("it takes minutes; make chaos runs it")
	}
	endless, allowed := serveElsewhere(t, endlessCard)
	var pure, poisoned []wave
	// The waves alternate, so that a machine that is busy meanwhile is so for both.
	for i := range waves {
		for _, poison := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d poison %v", i, poison), func(t *testing.T) {
				b := newBench(t, "chaos-poison", func(b *bench) {
					b.patience = patience * time.Duration(1+crowd()/200)
					b.settings = func(c *operator.Config) {
						c.MaxConcurrentReconciles = operator.Defaults().MaxConcurrentReconciles
						c.RemoteAllow = allowed
					}
				})
				if poison {
					b.poison(endless)
				}
				before, written := workSoFar(t), len(b.transport.writesSince(0))
				w := wave{p99: b.arrive(crowd()), work: workSoFar(t).since(before)}
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
	least, most := middle(pure), middle(poisoned)
	ratio := float64(most.p99) / float64(least.p99)
	t.Logf("%d Agents, p99 until Ready: %s without, %s with poison, the medians of %d waves: %.2f times",
		crowd(), least.p99.Round(time.Millisecond), most.p99.Round(time.Millisecond), len(pure), ratio)
	// What a clock says on a machine that others use is a figure and no failure.
	if ratio > worse {
		t.Logf("the goal of %.2f times is missed", worse)
	}
}

// wave is what comes of one.
type wave struct {
	p99 time.Duration
	work
	// writes are the requests of the operator that write, poison those of them
	// about the Agents that are.
	writes, poison int
}

func (w wave) String() string {
	return fmt.Sprintf("p99 %s; %s; %d writes, %d of them about poison", w.p99.Round(time.Millisecond), w.work, w.writes, w.poison)
}

// middle is the wave with the median.
func middle(of []wave) wave {
	slices.SortFunc(of, func(a, b wave) int { return cmp.Compare(a.p99, b.p99) })
	return of[len(of)/2]
}

// work is what the controller of Agents has done: how often it has looked at
// one, for how long, and how long these had waited for a worker. It is a measure
// of poison that others on the machine make larger for both kinds of waves.
type work struct {
	looks           uint64
	looking, queued time.Duration
}

func (w work) String() string {
	each := time.Duration(max(1, w.looks))
	return fmt.Sprintf("%d looks of %s, each after %s in the queue", w.looks, (w.looking / each).Round(time.Microsecond), (w.queued / each).Round(time.Microsecond))
}

func (w work) since(before work) work {
	return work{looks: w.looks - before.looks, looking: w.looking - before.looking, queued: w.queued - before.queued}
}

// workSoFar is that of all operators of this process.
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
				ours = ours || label.GetName() == "controller" && label.GetValue() == "agent"
			}
			if !ours {
				continue
			}
			sum := time.Duration(m.GetHistogram().GetSampleSum() * float64(time.Second))
			switch family.GetName() {
			case "controller_runtime_reconcile_time_seconds":
				w.looks, w.looking = w.looks+m.GetHistogram().GetSampleCount(), w.looking+sum
			case "workqueue_queue_duration_seconds":
				w.queued += sum
			}
		}
	}
	return w
}

// endlessCard never comes to an end.
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

// poison makes what harms the operator, if it can be harmed.
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
	b.eventually("the poison to be told of", func() string {
		return b.lacks(heavy, a2av1alpha1.ConditionSkillsResolved, a2av1alpha1.ReasonCardTooLarge) + b.lacks(endless, a2av1alpha1.ConditionAvailable, a2av1alpha1.ReasonRemoteCardInvalid)
	})
}

// lacks says what an agent's conditions are as long as one is not false, for
// that reason.
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

// crashes lets the container of an agent end and start, ten times a second.
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

// arrive makes many Agents, and returns how long 99 of 100 take to be ready.
func (b *bench) arrive(n int) time.Duration {
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
	b.eventually("all to be ready", func() string {
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
			return fmt.Sprintf("%d of %d are, %s", len(took), n, last)
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
