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

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Events returns the events of a namespace.
func (c *Cluster) Events(ctx context.Context, namespace string) (*corev1.EventList, error) {
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	list, err := core.Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, Explain(ctx, err, Access{Verb: "list", Resource: "events", Namespace: namespace})
	}
	list.APIVersion, list.Kind = "v1", "EventList"
	return list, nil
}

// Pods returns the pods that a label selector selects.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) (*corev1.PodList, error) {
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	list, err := core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, Explain(ctx, err, Access{Verb: "list", Resource: "pods", Namespace: namespace})
	}
	return list, nil
}

// Log returns the log of a container, which the caller closes. Its length is not bounded.
func (c *Cluster) Log(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	log, err := core.Pods(namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return nil, Explain(ctx, err, Access{Verb: "get", Resource: "pods", Subresource: "log", Namespace: namespace, Name: pod})
	}
	return log, nil
}

// fieldManager is the field manager of the CLI in server-side apply.
const fieldManager = "kubectl-a2a"

// Deployment returns the JSON of a Deployment.
func (c *Cluster) Deployment(ctx context.Context, namespace, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	result := core.RESTClient().Get().AbsPath("/apis/apps/v1").Namespace(namespace).Resource("deployments").Name(name).
		SetHeader("Accept", "application/json").Do(ctx)
	text, err := result.Raw()
	if err != nil {
		// The error of Raw does not have the status in the response.
		return nil, Explain(ctx, result.Error(), Access{Verb: "get", Group: "apps", Resource: "deployments", Namespace: namespace, Name: name})
	}
	return text, nil
}

// Services returns the Services of a namespace.
func (c *Cluster) Services(ctx context.Context, namespace string) ([]corev1.Service, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	list, err := core.Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, Explain(ctx, err, Access{Verb: "list", Resource: "services", Namespace: namespace})
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
	access := Access{Verb: "apply", Group: a2av1alpha1.GroupVersion.Group, Resource: "agents", Namespace: namespace, Name: name}
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
