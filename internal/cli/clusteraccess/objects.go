// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Events returns the events of a namespace.
func (c *Cluster) Events(ctx context.Context, namespace string) (*corev1.EventList, error) {
	list, err := request(ctx, c, Access{Verb: "list", Resource: "events", Namespace: namespace}, func(ctx context.Context, all *clients) (*corev1.EventList, error) {
		return all.core.Events(namespace).List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, err
	}
	list.APIVersion, list.Kind = "v1", "EventList"
	return list, nil
}

// Pods returns the pods that a label selector selects.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) (*corev1.PodList, error) {
	return request(ctx, c, Access{Verb: "list", Resource: "pods", Namespace: namespace}, func(ctx context.Context, all *clients) (*corev1.PodList, error) {
		return all.core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	})
}

// Log returns the log of a container, which the caller closes. Its length is not bounded.
func (c *Cluster) Log(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	all, err := c.connect()
	if err != nil {
		return nil, err
	}
	log, err := all.core.Pods(namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return nil, Explain(ctx, err, Access{Verb: "get", Resource: "pods", Subresource: "log", Namespace: namespace, Name: pod})
	}
	return log, nil
}

// fieldManager is the field manager of the CLI in server-side apply.
const fieldManager = "kubectl-a2a"

// Deployment returns the JSON of a Deployment.
func (c *Cluster) Deployment(ctx context.Context, namespace, name string) ([]byte, error) {
	access := Access{Verb: "get", Group: "apps", Resource: "deployments", Namespace: namespace, Name: name}
	return request(ctx, c, access, func(ctx context.Context, all *clients) ([]byte, error) {
		result := all.core.RESTClient().Get().AbsPath("/apis/apps/v1").Namespace(namespace).Resource("deployments").Name(name).
			SetHeader("Accept", "application/json").Do(ctx)
		text, _ := result.Raw() // unlike the error of Raw, the error of the result has the status in the response
		return text, result.Error()
	})
}

// Services returns the Services of a namespace that a label selector selects, all for "".
func (c *Cluster) Services(ctx context.Context, namespace, selector string) ([]corev1.Service, error) {
	list, err := request(ctx, c, Access{Verb: "list", Resource: "services", Namespace: namespace}, func(ctx context.Context, all *clients) (*corev1.ServiceList, error) {
		return all.core.Services(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// DryRun lets the API server validate the JSON of a new or an existing Agent. It stores nothing.
func (c *Cluster) DryRun(ctx context.Context, namespace, name string, text []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	all, err := c.connect()
	if err != nil {
		return err
	}
	err = all.agents.Patch(types.ApplyPatchType).Namespace(namespace).Resource("agents").Name(name).
		Param("dryRun", metav1.DryRunAll).Param("fieldManager", fieldManager).Param("force", "true").Body(text).Do(ctx).Error()
	access := accessToAgents("apply", namespace, name)
	switch {
	case apierrors.IsForbidden(err):
		// The API server requires the right to patch, and also the right to create if the Agent does not exist.
		rule := access
		rule.Verb = "create, patch"
		return failure.Of(access.forbidden()).WithHint("%s", rule.hint())
	case apierrors.IsNotFound(err) && !isMissingKind(err): // an apply creates the Agent, but not its namespace
		return failure.New(failure.Unreachable, "there is no namespace %s", namespace).WithHint("create it, or name another one with -n")
	case err != nil:
		return Explain(ctx, err, access)
	}
	return nil
}
