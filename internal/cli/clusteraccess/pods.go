// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
