// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// readTimeout bounds each read and each call.
const readTimeout = 10 * time.Second

var errSlowRead = failure.New(failure.Timeout, "no answer within %s", readTimeout)

// Gather reads the facts about the Agents of one namespace, or of all namespaces for "". The reads
// run at the same time, each bounded by 10 s. With options, it also calls the agents. Gather
// returns an error only if ctx ends, or if the clients cannot be made.
func Gather(ctx context.Context, cluster *clusteraccess.Cluster, namespace string, agents []*a2av1alpha1.Agent, calls *CallOptions) (*SharedFacts, []*AgentFacts, error) {
	config, err := cluster.Config()
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it is a failure
	}
	clock := &serverClock{}
	config.Wrap(clock.transport)
	// The number of requests does not depend on the number of agents.
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, failure.Wrap(failure.Usage, err, "kubeconfig cannot be used")
	}
	r := &reader{client: client}
	facts := r.agents(ctx, namespace, agents)
	if calls != nil && calls.From != "" {
		r.callers(ctx, calls.From, facts)
	}
	shared := &SharedFacts{}
	var all sync.WaitGroup
	all.Go(func() { r.shared(ctx, shared, facts) })
	if calls != nil {
		for _, f := range facts {
			all.Go(func() { calls.gather(ctx, cluster, f) })
		}
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx) //nolint:wrapcheck // it is a failure, or the user's interrupt
	}
	shared.Now, shared.ServerTime = clock.times()
	return shared, facts, nil
}

// reader reads objects.
type reader struct{ client kubernetes.Interface }

// unread collects the parts that could not be read. It is safe for concurrent use.
type unread struct {
	mu  sync.Mutex
	all []Unread
}

func (u *unread) add(part string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, Unread{part, failure.Of(err)})
}

// sorted returns the parts in a stable order.
func (u *unread) sorted() []Unread {
	slices.SortFunc(u.all, func(a, b Unread) int { return strings.Compare(a.Part, b.Part) })
	return u.all
}

// read runs a request with a bound, and explains its failure.
func read[T any](ctx context.Context, access clusteraccess.Access, options metav1.ListOptions, request func(context.Context, metav1.ListOptions) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, errSlowRead)
	defer cancel()
	out, err := request(ctx, options)
	if err != nil {
		var none T
		return none, clusteraccess.Explain(ctx, err, access) //nolint:wrapcheck // it is a failure
	}
	return out, nil
}
