// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentmetrics

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// objects is a fake cache. It implements only List.
type objects struct {
	client.Reader
	agents      []a2av1alpha1.Agent
	deployments []appsv1.Deployment
	err         error
}

func (o *objects) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *a2av1alpha1.AgentList:
		l.Items = o.agents
	case *appsv1.DeploymentList:
		l.Items = o.deployments
	default:
		return fmt.Errorf("list of %T", list)
	}
	return o.err
}

var elected = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func agentNamed(name string, conditions ...metav1.Condition) a2av1alpha1.Agent {
	return a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)},
		Status:     a2av1alpha1.AgentStatus{Conditions: conditions},
	}
}

// gathered returns the metrics as lines.
func gathered(t *testing.T, o Options) ([]string, error) {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := Register(registry, New(o)); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	var lines []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			lines = append(lines, line(family.GetName(), m))
		}
	}
	return lines, err // the test compares it
}

func line(name string, m *dto.Metric) string {
	values := []string{name}
	for _, label := range m.GetLabel() {
		values = append(values, label.GetName()+"="+label.GetValue())
	}
	return fmt.Sprintf("%s %v", strings.Join(values, " "), m.GetGauge().GetValue())
}

func TestAgentsHaveTheirStateInMetrics(t *testing.T) {
	broken := agentNamed("broken",
		metav1.Condition{Type: a2av1alpha1.ConditionReady, Status: metav1.ConditionFalse},
		metav1.Condition{Type: a2av1alpha1.ConditionStalled, Status: metav1.ConditionTrue},
		metav1.Condition{Type: "Hostile", Status: metav1.ConditionTrue},
		metav1.Condition{Type: a2av1alpha1.ConditionAccepted, Status: "hostile"})
	broken.Spec.Suspend = true
	remote := agentNamed("far", metav1.Condition{Type: a2av1alpha1.ConditionReady, Status: metav1.ConditionTrue})
	remote.Spec.Remote = &a2av1alpha1.AgentRemote{}
	remote.Status.Conditions[0].Reason = a2av1alpha1.ReasonForeignPodServes
	foreign := agentNamed("foreign")
	foreign.Status.Operator = "b/a2a-operator"
	broken.Status.Operator = "a/a2a-operator"
	o := &objects{agents: []a2av1alpha1.Agent{broken, remote, foreign}, deployments: []appsv1.Deployment{
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "broken", OwnerReferences: []metav1.OwnerReference{{UID: "broken", Controller: new(true)}}},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(3))}, Status: appsv1.DeploymentStatus{ReadyReplicas: 2},
		},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "foreign"}, Status: appsv1.DeploymentStatus{ReadyReplicas: 7}},
	}}
	lines, err := gathered(t, Options{Objects: o, Elected: elected, Operator: "a/a2a-operator", CardRead: func(key types.NamespacedName) (read, stale time.Time) {
		if key.Name != "far" {
			t.Errorf("CardRead(%s)", key)
		}
		return time.Unix(1700000000, 0), time.Unix(1800000000, 0)
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"a2a_agent_card_read_timestamp_seconds name=far namespace=team 1.7e+09",
		"a2a_agent_card_stale_timestamp_seconds name=far namespace=team 1.8e+09",
		"a2a_agent_condition name=broken namespace=team status=False type=Ready 1",
		"a2a_agent_condition name=broken namespace=team status=True type=Stalled 1",
		"a2a_agent_condition name=far namespace=team status=True type=Ready 1",
		"a2a_agent_degraded name=far namespace=team reason=ForeignPodServes 1",
		"a2a_agent_replicas_desired name=broken namespace=team 3",
		"a2a_agent_replicas_ready name=broken namespace=team 2",
		"a2a_agent_suspended name=broken namespace=team 1",
		"a2a_agent_suspended name=far namespace=team 0",
		"a2a_agents kind=Remote 1",
		"a2a_agents kind=Workload 2",
		"a2a_agents_of_other_operators 1",
	}, "\n")
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("metrics:\n%s\nwant:\n%s", got, want)
	}
}

func TestOnlyTheLeaderExportsAgents(t *testing.T) {
	o := &objects{agents: []a2av1alpha1.Agent{agentNamed("a")}}
	if lines, err := gathered(t, Options{Objects: o, Elected: make(chan struct{})}); err != nil || len(lines) != 0 {
		t.Errorf("metrics of a replica that waits = %v, %v, want none", lines, err)
	}
}

func TestAgentsBeyondTheBoundAreCountedOnly(t *testing.T) {
	o := &objects{}
	for i := range maxAgents + 5 {
		o.agents = append(o.agents, agentNamed(fmt.Sprintf("a%d", i)))
	}
	lines, err := gathered(t, Options{Objects: o, Elected: elected})
	if err != nil || len(lines) != maxAgents+3 || lines[len(lines)-2] != fmt.Sprintf("a2a_agents kind=Workload %d", maxAgents+5) {
		t.Errorf("%d metrics, %v, last %q", len(lines), err, lines[len(lines)-2])
	}
}

// TestAgentsBeyondTheBoundAreTheSameInEachScrape shuffles the Agents between two
// scrapes, because the cache lists its objects in a different order each time.
func TestAgentsBeyondTheBoundAreTheSameInEachScrape(t *testing.T) {
	o := &objects{}
	for i := range maxAgents + 5 {
		o.agents = append(o.agents, agentNamed(fmt.Sprintf("a%d", i)))
		o.agents[i].CreationTimestamp = metav1.Unix(int64(i/2), 0)
	}
	first, err := gathered(t, Options{Objects: o, Elected: elected})
	if err != nil {
		t.Fatal(err)
	}
	rand.Shuffle(len(o.agents), func(i, j int) { o.agents[i], o.agents[j] = o.agents[j], o.agents[i] })
	// A new Agent does not replace an older one.
	newest := agentNamed("a")
	newest.CreationTimestamp = metav1.Unix(maxAgents, 0)
	o.agents = append([]a2av1alpha1.Agent{newest}, o.agents...)
	second, err := gathered(t, Options{Objects: o, Elected: elected})
	if err != nil {
		t.Fatal(err)
	}
	if last := len(first) - 3; !slices.Equal(first[:last], second[:last]) {
		t.Error("two scrapes have the series of different Agents")
	}
}

// A scrape fails if the cache cannot be read. Otherwise an alert could not distinguish
// this failure from a cluster without Agents.
func TestAnUnreadableCacheFailsTheScrape(t *testing.T) {
	if _, err := gathered(t, Options{Objects: &objects{err: context.DeadlineExceeded}, Elected: elected}); err == nil || !strings.Contains(err.Error(), "list Agents") {
		t.Errorf("Gather() error = %v", err)
	}
}

// TestALaterCollectorReplacesTheFormer: if a process runs several managers one after
// the other, each of them registers a Collector, and the last one exports the metrics.
func TestALaterCollectorReplacesTheFormer(t *testing.T) {
	registry := prometheus.NewRegistry()
	for i := range 2 {
		o := &objects{agents: make([]a2av1alpha1.Agent, i+1)}
		for j := range o.agents {
			o.agents[j] = agentNamed(fmt.Sprint("a", j))
		}
		if err := Register(registry, New(Options{Objects: o, Elected: elected})); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if got := line("a2a_agents", families[len(families)-2].GetMetric()[1]); got != "a2a_agents kind=Workload 2" {
		t.Error(got)
	}
}

// Several managers run in one process in tests, and start at the same time.
func TestManagersRegisterAtTheSameTime(t *testing.T) {
	registry := prometheus.NewRegistry()
	var managers errgroup.Group
	for range 10 {
		managers.Go(func() error {
			for range 1_000 {
				if err := Register(registry, New(Options{})); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := managers.Wait(); err != nil {
		t.Error(err)
	}
}
