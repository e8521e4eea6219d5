// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Registry returns connections to the Service of the registry, and the scheme that it speaks: http
// or https.
func (c *Cluster) Registry(ctx context.Context, namespace, service string) (forward *Forward, scheme string, err error) {
	all, err := c.connect()
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	list, err := all.endpoints.EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, "", Explain(ctx, err, Access{Verb: "list", Group: discoveryv1.GroupName, Resource: "endpointslices", Namespace: namespace})
	}
	for i := range list.Items {
		for _, scheme := range []string{"https", "http"} {
			if portOf(list.Items[i].Ports, scheme) != 0 {
				return c.Forward(namespace, service, scheme), scheme, nil
			}
		}
	}
	return nil, "", failure.New(failure.Unreachable, "there is no registry at Service %s in namespace %s", service, namespace).
		WithHint("--registry-service NAMESPACE/NAME names the Service of the registry; kubectl get services -A -l app.kubernetes.io/component=registry lists it")
}
