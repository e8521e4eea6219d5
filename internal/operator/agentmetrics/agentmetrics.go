// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentmetrics exports metrics of the state of Agents. It reads Agents and Deployments
// from the informer caches.
package agentmetrics

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/agentstate"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// Options configure a Collector. All fields are required.
type Options struct {
	// Objects reads Agents and Deployments from the caches.
	Objects client.Reader
	// Elected is closed when this replica becomes the leader. Replicas that do not lead export
	// no metrics of Agents, so that each metric of an Agent exists once.
	Elected <-chan struct{}
	// Operator is the name of this operator in the status of its Agents.
	Operator string
	// CardRead returns the time of the last successful read of a remote agent's card by this
	// replica, and the time from which the card counts as stale. It returns zero times if there
	// was no successful read.
	CardRead func(types.NamespacedName) (read, stale time.Time)
}

// Collector is a prometheus.Collector of the state of Agents. It counts all Agents, and exports
// the state of the maxAgents oldest ones. It sends no request to the API server. It is safe for
// concurrent use.
type Collector struct{ options Options }

const (
	// maxAgents bounds the number of Agents that have metrics of their own, about ten series
	// each.
	maxAgents = 10_000
	// timeout limits how long Collect waits for caches that are not synced yet.
	timeout = 5 * time.Second
)

// New returns a Collector.
func New(o Options) *Collector { return &Collector{options: o} }

// registration serializes calls of Register.
var registration sync.Mutex

// Register registers a Collector. If an earlier manager of this process registered a Collector,
// the new one replaces it. Register is safe for concurrent use, because managers of one process
// may start at the same time.
func Register(r prometheus.Registerer, c *Collector) error {
	registration.Lock()
	defer registration.Unlock()
	r.Unregister(c)
	if err := r.Register(c); err != nil {
		return fmt.Errorf("register metrics of Agents: %w", err)
	}
	return nil
}

var (
	agents    = prometheus.NewDesc("a2a_agents", "Agents in the watched namespaces, by kind: Workload or Remote. The metrics of single Agents cover the 10,000 oldest.", []string{"kind"}, nil)
	foreign   = prometheus.NewDesc("a2a_agents_of_other_operators", "Agents in the watched namespaces that another operator manages, and that this one leaves alone.", nil, nil)
	condition = prometheus.NewDesc("a2a_agent_condition", "Conditions of the Agent, always 1, by type and present status.", []string{"namespace", "name", "type", "status"}, nil)
	degraded  = prometheus.NewDesc("a2a_agent_degraded", "Agents that are ready although something fails, always 1, by the reason of the condition Ready; absent for other Agents.", []string{"namespace", "name", "reason"}, nil)
	suspended = prometheus.NewDesc("a2a_agent_suspended", "Whether spec.suspend stops the Agent (1) or not (0).", []string{"namespace", "name"}, nil)
	wanted    = prometheus.NewDesc("a2a_agent_replicas_desired", "Desired pods of the Agent's Deployment.", []string{"namespace", "name"}, nil)
	ready     = prometheus.NewDesc("a2a_agent_replicas_ready", "Ready pods of the Agent's Deployment.", []string{"namespace", "name"}, nil)
	cardRead  = prometheus.NewDesc("a2a_agent_card_read_timestamp_seconds", "Time of the last successful read of the card of a remote agent, in Unix seconds; absent until the current leader has read the card.", []string{"namespace", "name"}, nil)
	cardStale = prometheus.NewDesc("a2a_agent_card_stale_timestamp_seconds", "Time from which the card of a remote agent counts as stale, in Unix seconds: one hour after the next read is due by spec.remote.refreshInterval. Each successful read sets it again; absent until the current leader has read the card.", []string{"namespace", "name"}, nil)
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{agents, foreign, condition, degraded, suspended, wanted, ready, cardRead, cardStale} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	select {
	case <-c.options.Elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var all a2av1alpha1.AgentList
	if err := c.options.Objects.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		to <- prometheus.NewInvalidMetric(agents, fmt.Errorf("list Agents: %w", err))
		return
	}
	var deployments appsv1.DeploymentList
	if err := c.options.Objects.List(ctx, &deployments, client.UnsafeDisableDeepCopy); err != nil {
		to <- prometheus.NewInvalidMetric(ready, fmt.Errorf("list Deployments: %w", err))
		return
	}
	owned := map[types.UID]*appsv1.Deployment{}
	for i := range deployments.Items {
		if owner := metav1.GetControllerOf(&deployments.Items[i]); owner != nil {
			owned[owner.UID] = &deployments.Items[i]
		}
	}
	remotes := 0
	others := 0
	single := make([]*a2av1alpha1.Agent, len(all.Items))
	for i := range all.Items {
		single[i] = &all.Items[i]
		if single[i].Spec.Remote != nil {
			remotes++
		}
		if c.foreign(single[i]) {
			others++
		}
	}
	// The cache lists Agents in random order. Collect selects the oldest Agents, so that each
	// scrape contains the same ones.
	if len(single) > maxAgents {
		slices.SortFunc(single, olderFirst)
		single = single[:maxAgents]
	}
	for _, a := range single {
		if c.foreign(a) {
			continue // its operator exports its metrics
		}
		c.collectAgent(to, a, owned[a.UID])
	}
	send(to, agents, float64(len(all.Items)-remotes), "Workload")
	send(to, agents, float64(remotes), "Remote")
	send(to, foreign, float64(others))
}

// foreign reports whether another operator manages an Agent.
func (c *Collector) foreign(a *a2av1alpha1.Agent) bool {
	return a.Status.Operator != "" && a.Status.Operator != c.options.Operator
}

func olderFirst(a, b *a2av1alpha1.Agent) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// kinds are the possible values of the label type: the condition types of the operator.
var kinds = append(a2av1alpha1.AgentConditions(), a2av1alpha1.OptionalAgentConditions()...)

// statuses are the possible values of the label status.
var statuses = []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}

// reasonForm matches the reasons of the operator. Others may write the status, too.
var reasonForm = regexp.MustCompile(`^[A-Za-z]{1,64}$`)

// collectAgent sends the metrics of one Agent. d is the Agent's Deployment, nil for none.
func (c *Collector) collectAgent(to chan<- prometheus.Metric, a *a2av1alpha1.Agent, d *appsv1.Deployment) {
	// Other writers may add conditions to the status. Only the condition types of the operator
	// become values of the label, so that their number is bounded.
	for _, kind := range kinds {
		for i := range a.Status.Conditions {
			if each := &a.Status.Conditions[i]; each.Type == kind && slices.Contains(statuses, each.Status) {
				send(to, condition, 1, a.Namespace, a.Name, kind, string(each.Status))
				break
			}
		}
	}
	if state := agentstate.Of(&a.Status); state.IsReady() && reasonForm.MatchString(state.Problem()) {
		send(to, degraded, 1, a.Namespace, a.Name, state.Problem())
	}
	stopped := 0.0
	if a.Spec.Suspend {
		stopped = 1
	}
	send(to, suspended, stopped, a.Namespace, a.Name)
	if d != nil && d.Name == names.Deployment(a.Name) {
		send(to, wanted, float64(ptr.Deref(d.Spec.Replicas, 1)), a.Namespace, a.Name)
		send(to, ready, float64(d.Status.ReadyReplicas), a.Namespace, a.Name)
	}
	if a.Spec.Remote != nil {
		if read, stale := c.options.CardRead(client.ObjectKeyFromObject(a)); !read.IsZero() {
			send(to, cardRead, float64(read.UnixMilli())/1000, a.Namespace, a.Name)
			send(to, cardStale, float64(stale.UnixMilli())/1000, a.Namespace, a.Name)
		}
	}
}

func send(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
