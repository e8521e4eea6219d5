// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Labels and annotations of the registry's Service, which the chart sets.
const (
	registryLabels              = "app.kubernetes.io/name=" + a2av1alpha1.ManagedBy + ",app.kubernetes.io/component=registry"
	annotationRegistryTLSSecret = "a2a-operator.dev/registry-tls-secret" //nolint:gosec // a name, not a credential
	annotationRegistryHost      = "a2a-operator.dev/registry-host"
)

// RegistryService is the Service of a registry.
type RegistryService struct {
	Namespace, Name string
	// Host is the name in the certificate of the registry.
	Host string
	// Port is the name of its port.
	Port string
	// TLSSecret is the Secret of its certificate, "" without TLS.
	TLSSecret string
}

// FindRegistry returns the registry in a namespace, or in any namespace for "".
func (c *Cluster) FindRegistry(ctx context.Context, namespace string) (*RegistryService, error) {
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	list, err := core.Services(namespace).List(ctx, metav1.ListOptions{LabelSelector: registryLabels})
	if err != nil {
		return nil, explainRegistry(Explain(ctx, err, Access{Verb: "list", Resource: "services", Namespace: namespace}), namespace)
	}
	const hint = "--registry-namespace names the namespace of the operator, --registry the URL of a registry"
	switch len(list.Items) {
	case 0:
		where := "any namespace"
		if namespace != "" {
			where = "namespace " + namespace
		}
		return nil, failure.New(failure.Unreachable, "there is no registry in %s: no Service has the labels %s", where, registryLabels).WithHint(hint)
	case 1:
	default:
		return nil, failure.New(failure.Usage, "there are %d registries, such as those of the namespaces %s and %s",
			len(list.Items), list.Items[0].Namespace, list.Items[1].Namespace).WithHint(hint)
	}
	service := &list.Items[0]
	out := &RegistryService{
		Namespace: service.Namespace, Name: service.Name, Port: "http",
		Host: service.Annotations[annotationRegistryHost], TLSSecret: service.Annotations[annotationRegistryTLSSecret],
	}
	if slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "https" }) {
		out.Port = "https"
	}
	if out.Host == "" {
		out.Host = service.Name + "." + service.Namespace + ".svc"
	}
	return out, nil
}

// explainRegistry adds a hint to the failure of a list in all namespaces: with one namespace, no ClusterRole is needed.
func explainRegistry(err error, namespace string) error {
	problem := failure.Of(err)
	if namespace != "" || problem.Code != failure.AuthFailed || problem.Hint == "" {
		return err
	}
	return problem.WithHint("name the namespace of the operator with --registry-namespace, or ask for a ClusterRole with the rule %s",
		Access{Verb: "list", Resource: "services"}.rule())
}

// RegistryAuthorities returns the PEM certificates that verify a registry, or nil if the Secret of its certificate contains none.
func (c *Cluster) RegistryAuthorities(ctx context.Context, r *RegistryService) ([]byte, error) {
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	secret, err := core.Secrets(r.Namespace).Get(ctx, r.TLSSecret, metav1.GetOptions{})
	if err != nil {
		err := Explain(ctx, err, Access{Verb: "get", Resource: "secrets", Namespace: r.Namespace, Name: r.TLSSecret})
		if problem := failure.Of(err); problem.Code == failure.AuthFailed {
			return nil, problem.WithHint("%s, or name the certificate of the registry's authority with --ca-file", problem.Hint)
		}
		return nil, err
	}
	if authorities := secret.Data["ca.crt"]; len(authorities) > 0 {
		return authorities, nil
	}
	return nil, nil
}
