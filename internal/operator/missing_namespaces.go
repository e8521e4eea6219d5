// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// missingCheckInterval, which only tests change, is the shortest interval between two checks of missing namespaces. A
// random time of up to the same length is added (jitter), so that replicas do not restart at the
// same time.
var missingCheckInterval = 5 * time.Second

// missingNamespaces are namespaces of --watch-namespaces in which the manager lacks rights. The
// manager's rights in a namespace are deleted with the namespace, and a cache never syncs if it
// may not read one of its namespaces. A manager therefore starts without the missing namespaces,
// serves the others, and restarts when it has its rights in a missing one.
type missingNamespaces struct {
	client client.Client
	names  []string
}

// withoutMissing returns the missing namespaces of config, and config without them. It returns
// an error if all namespaces are missing.
func withoutMissing(ctx context.Context, cluster *rest.Config, config Config, log logr.Logger) (*missingNamespaces, Config, error) {
	missing := &missingNamespaces{}
	if len(config.WatchNamespaces) == 0 {
		return missing, config, nil
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, config, err
	}
	if missing.client, err = client.New(cluster, client.Options{Scheme: scheme}); err != nil {
		return nil, config, fmt.Errorf("build client: %w", err)
	}
	var reason error
	configured := config.WatchNamespaces
	config.WatchNamespaces = nil
	for _, namespace := range configured {
		switch err := missing.checkWithRetry(ctx, namespace); {
		case err == nil:
			config.WatchNamespaces = append(config.WatchNamespaces, namespace)
		case apierrors.IsForbidden(err):
			reason = err
			missing.names = append(missing.names, namespace)
			log.Error(err, "skipped a namespace that the manager may not read: create the namespace and the manager's rights in it, or remove it from --watch-namespaces",
				"namespace", namespace)
		default:
			return nil, config, fmt.Errorf("check namespace %s: %w", namespace, err)
		}
	}
	if len(config.WatchNamespaces) == 0 { // an empty list would mean all namespaces
		return nil, config, fmt.Errorf("none of the namespaces of --watch-namespaces can be read (%s): %w", strings.Join(configured, ", "), reason)
	}
	return missing, config, nil
}

// checkWithRetry checks a namespace. It retries errors with exponential backoff, up to five
// attempts in about three seconds. It does not retry a Forbidden error.
func (m *missingNamespaces) checkWithRetry(ctx context.Context, namespace string) error {
	backoff := wait.Backoff{Steps: 5, Duration: 200 * time.Millisecond, Factor: 2}
	retryable := func(err error) bool { return ctx.Err() == nil && !apierrors.IsForbidden(err) }
	return retry.OnError(backoff, retryable, func() error { return m.check(ctx, namespace) })
}

// statusOfNoAgent is the name of an Agent that does not exist. The name of an Agent has no dots.
const statusOfNoAgent = "rights.of.the.operator"

// check lists, in a namespace, one object of each kind that the manager watches. It lists every
// kind, because the Role of another release may allow only some of the kinds.
//
// An administrator of the namespace can delete or replace the manager's Role there, but cannot grant
// the right to write the status of Agents, which the ClusterRole admin lacks. check demands this
// right. A Role with fewer rights, which would keep the caches from ever syncing, therefore counts as
// missing, and an administrator of a namespace cannot restart the manager of all namespaces.
func (m *missingNamespaces) check(ctx context.Context, namespace string) error {
	for _, list := range []client.ObjectList{
		&a2av1alpha1.AgentList{}, &a2av1alpha1.AgentSkillList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{},
		&corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &networkingv1.NetworkPolicyList{}, &corev1.PodList{},
		&autoscalingv2.HorizontalPodAutoscalerList{}, &policyv1.PodDisruptionBudgetList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
	} {
		if err := m.client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return err
		}
	}
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: statusOfNoAgent}}
	err := m.client.Status().Patch(ctx, agent, client.RawPatch(types.MergePatchType, []byte("{}")), client.DryRunAll)
	return client.IgnoreNotFound(err) // the API server checks the right first
}

var (
	_ manager.Runnable               = (*missingNamespaces)(nil)
	_ manager.LeaderElectionRunnable = (*missingNamespaces)(nil)
)

// NeedLeaderElection implements manager.LeaderElectionRunnable. It returns false, because the
// registry of every replica serves the Agents of the namespaces.
func (m *missingNamespaces) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It returns an error, which ends the manager, when two
// consecutive checks find that the same missing namespaces can be read now. Kubernetes then
// restarts the container, because a process cannot add a namespace to running caches.
func (m *missingNamespaces) Start(ctx context.Context) error {
	if len(m.names) == 0 {
		return nil
	}
	var before []string
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait.Jitter(missingCheckInterval, 1)):
		}
		var readable []string
		for _, namespace := range m.names {
			if m.check(ctx, namespace) == nil {
				readable = append(readable, namespace)
			}
		}
		if len(readable) > 0 && slices.Equal(readable, before) {
			return fmt.Errorf("restart to serve namespaces that were missing at the start: %s", strings.Join(readable, ", "))
		}
		before = readable
	}
}
