// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
)

// Gather reads the facts about the Agents of one namespace, or of all namespaces for "". The reads
// run at the same time, each bounded by 10 s. If calls is not nil, it also calls the agents. Gather
// returns an error only if ctx ends, or if the clients cannot be made.
func Gather(ctx context.Context, cluster *clusteraccess.Cluster, namespace string, agents []*a2av1alpha1.Agent, calls *CallOptions) (*SharedFacts, []*AgentFacts, error) {
	config, err := cluster.Config()
	if err != nil {
		return nil, nil, err
	}
	clock := &serverClock{}
	config.Wrap(clock.transport)
	// No client-side rate limit: the number of requests does not depend on the number of agents.
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, clusteraccess.Unusable(err)
	}
	r := &reader{client: client, openAPI: func(ctx context.Context) ([]byte, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis", a2av1alpha1.GroupVersion.String()).DoRaw(ctx)
	}}
	facts := r.agents(ctx, namespace, agents)
	if calls != nil && calls.From != "" {
		r.callers(ctx, calls.From, facts)
	}
	shared := &SharedFacts{Plugin: version.Get().Version}
	var all sync.WaitGroup
	all.Go(func() { r.shared(ctx, shared, facts) })
	if calls != nil {
		for _, f := range facts {
			all.Go(func() { calls.gather(ctx, cluster, f) })
		}
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	shared.Now, shared.ServerTime = clock.times()
	return shared, facts, nil
}

// dnsDomains returns the domains that CoreDNS serves for Services, by its ConfigMap in kube-system. It returns nil if the
// ConfigMap cannot be read or names none: other DNS servers have another configuration.
func (r *reader) dnsDomains(ctx context.Context) []string {
	const namespace, name = "kube-system", "coredns"
	access := clusteraccess.Access{Verb: "get", Resource: "configmaps", Namespace: namespace, Name: name}
	config, err := read(ctx, access, func(ctx context.Context) (*corev1.ConfigMap, error) {
		return r.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return nil
	}
	return domainsOf(config.Data["Corefile"])
}

// failedHooks returns the events about preStop hooks that failed in a namespace, or nil if they cannot be read. The API server keeps
// events for an hour by default.
func (r *reader) failedHooks(ctx context.Context, namespace string) []corev1.Event {
	events, err := read(ctx, clusteraccess.Access{}, func(ctx context.Context) (*corev1.EventList, error) {
		return r.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod,reason=" + reasonFailedHook})
	})
	if err != nil {
		return nil
	}
	return events.Items
}
