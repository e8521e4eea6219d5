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
	annotationRegistryTLSSecret = "a2a-operator.dev/registry-tls-secret"
	annotationRegistryHost      = "a2a-operator.dev/registry-host"
)

// OperatorNamespace is the namespace in which the documentation installs the operator.
const OperatorNamespace = "a2a-system"

// registryHint tells how to name another registry.
const registryHint = "--registry-namespace names the namespace of the operator, --registry the URL of a registry"

// RegistryService is the Service of a registry.
type RegistryService struct {
	Namespace, Name string
	// Host is the name in the certificate of the registry.
	Host string
	// Port is the name of the port of the Service at which the registry listens.
	Port string
	// TLSSecret is the name of the Secret with the certificate of the registry, "" without TLS.
	TLSSecret string
}

// FindRegistry returns the registry in a namespace. It does not search other namespaces: a user who may create a
// Service in one of them could make the CLI send the token for the registry to a program of this user.
func (c *Cluster) FindRegistry(ctx context.Context, namespace string) (*RegistryService, error) {
	if namespace == "" {
		return nil, failure.New(failure.Usage, "--registry-namespace is empty").WithHint(registryHint)
	}
	services, err := c.Services(ctx, namespace, registryLabels)
	if err != nil {
		return nil, explainRegistry(err)
	}
	switch len(services) {
	case 0:
		return nil, failure.New(failure.Unreachable, "there is no registry in namespace %s: no Service has the labels %s", namespace, registryLabels).
			WithHint(registryHint)
	case 1:
	default:
		return nil, failure.New(failure.Usage, "there are %d registries in namespace %s, such as the Services %s and %s",
			len(services), namespace, services[0].Name, services[1].Name).WithHint("--registry names the URL of a registry")
	}
	service := &services[0]
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

// explainRegistry extends the hint of an error about a missing right: the operator may run in another namespace.
func explainRegistry(err error) error {
	problem := failure.Of(err)
	if problem.Code != failure.AuthFailed || problem.Hint == "" {
		return err
	}
	return problem.WithHint("%s; %s", problem.Hint, registryHint)
}

// RegistryAuthorities returns the PEM certificates that verify a registry, or nil if the Secret of its certificate contains none.
func (c *Cluster) RegistryAuthorities(ctx context.Context, r *RegistryService) ([]byte, error) {
	access := Access{Verb: "get", Resource: "secrets", Namespace: r.Namespace, Name: r.TLSSecret}
	secret, err := request(ctx, c, access, func(ctx context.Context, all *clients) (*corev1.Secret, error) {
		return all.CoreV1().Secrets(r.Namespace).Get(ctx, r.TLSSecret, metav1.GetOptions{})
	})
	if err != nil {
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
