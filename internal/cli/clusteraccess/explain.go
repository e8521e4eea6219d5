// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Access describes a request to the API server in the terms of RBAC. An empty Namespace stands for all namespaces.
type Access struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
}

func (a Access) resource() string {
	if a.Subresource != "" {
		return a.Resource + "/" + a.Subresource
	}
	return a.Resource
}

// rule returns the rule that grants the access, as a line of a Role.
func (a Access) rule() string {
	rule := fmt.Sprintf("{apiGroups: [%q], resources: [%s], ", a.Group, a.resource())
	if a.Name != "" && (a.Resource == "serviceaccounts" || a.Resource == "secrets") {
		rule += "resourceNames: [" + a.Name + "], "
	}
	return rule + "verbs: [" + a.Verb + "]}"
}

// hint returns a sentence that names the Role or ClusterRole to ask for.
func (a Access) hint() string {
	if a.Namespace == "" {
		return "ask for a ClusterRole with the rule " + a.rule() + ", or name a namespace with -n"
	}
	return "ask for a Role in namespace " + a.Namespace + " with the rule " + a.rule()
}

// forbidden returns the failure for a request that RBAC denies.
func (a Access) forbidden() error {
	problem := failure.New(failure.AuthFailed, "you may not %s %s", a.Verb, a.target()).WithHint("%s", a.hint())
	problem.MissingRight = true
	return problem
}

// object describes the requested object for people.
func (a Access) object() string {
	object := a.Resource
	if a.Name != "" {
		object = strings.TrimSuffix(a.Resource, "s") + " " + a.Name
	}
	if a.Namespace != "" {
		object += " in namespace " + a.Namespace
	}
	return object
}

// Explain returns the failure for the error of a request to the API server. If ctx has ended, it returns context.Cause(ctx).
func Explain(ctx context.Context, err error, a Access) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case apierrors.IsForbidden(err):
		return a.forbidden()
	case apierrors.IsUnauthorized(err):
		return failure.New(failure.AuthFailed, "the API server does not accept your credentials").
			WithHint("log in again; kubectl auth whoami checks them")
	case isMissingKind(err) && a.Group != a2av1alpha1.GroupVersion.Group:
		return failure.New(failure.Internal, "the API server does not have %s", a.resource()).
			WithHint("kubectl api-resources lists the kinds of the cluster; --context names another cluster")
	case isMissingKind(err):
		return failure.New(failure.Unreachable, "the cluster has no Agents: the operator is not installed").
			WithHint("https://github.com/a2a-operator/a2a-operator/blob/main/docs/how-to/install.md describes how to install it")
	case apierrors.IsNotFound(err):
		return failure.New(a.missing(), "there is no %s", a.object()).
			WithHint("%s", findHint(a))
	case isAnswer(err):
		problem := failure.Wrap(failure.Internal, err, "%s %s", a.Verb, a.object())
		problem.Message = strings.ReplaceAll(problem.Message, "<nil>: Invalid value", "the object is invalid") // a rule about the whole object has no path
		return problem
	default:
		return failure.Wrap(failure.Unreachable, err, "the API server cannot be reached").
			WithHint("kubectl cluster-info checks the connection; --context names another cluster")
	}
}

// ExplainWatch returns the failure for the error of a list or a watch of the kind that the API server's answer names.
func ExplainWatch(ctx context.Context, err error, namespace string) error {
	access := accessToAgents("list, watch", namespace, "")
	var status apierrors.APIStatus // errors.AsType accepts only types that implement error
	if errors.As(err, &status) && status.Status().Details != nil {
		details := status.Status().Details
		access.Group = details.Group
		access.Resource = details.Kind
	}
	return Explain(ctx, err, access)
}

// missing returns the code of the failure for a request whose object does not exist.
func (a Access) missing() failure.Code {
	switch a.Resource {
	case "agents":
		return failure.CardNotFound
	case "serviceaccounts", "secrets":
		return failure.CredentialsMissing
	}
	return failure.Usage
}

// target describes what the request accesses: an object, or a subresource of the object.
func (a Access) target() string {
	if a.Subresource != "" {
		return a.resource() + " of " + a.object()
	}
	return a.object()
}

func findHint(a Access) string {
	if a.Resource == "agents" {
		return "list the Agents of all namespaces with kubectl a2a list -A"
	}
	return fmt.Sprintf("list the existing ones with kubectl get %s -n %s", a.Resource, a.Namespace)
}

// isAnswer reports whether an error is an answer of the API server, with a reason or without one.
func isAnswer(err error) bool {
	var status apierrors.APIStatus // errors.AsType accepts only types that implement error
	return errors.As(err, &status)
}

// isMissingKind reports whether err is a response with status 404 because the API server does not serve the kind. Such
// a response names no object.
func isMissingKind(err error) bool {
	var status apierrors.APIStatus // errors.AsType accepts only types that implement error
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse // client-go adds the name of the request to a response that is no Status
	})
}
