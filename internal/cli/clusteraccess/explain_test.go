// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

func TestAMissingKindIsNamed(t *testing.T) {
	missing := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404}}
	for want, access := range map[string]Access{
		"the operator is not installed":                 {Group: "a2a-operator.dev", Resource: "agents", Verb: "list"},
		"the API server does not have endpointslices":   {Group: "discovery.k8s.io", Resource: "endpointslices", Verb: "list"},
		"the API server does not have pods/portforward": {Resource: "pods", Subresource: "portforward", Verb: "create"},
	} {
		if got := failure.Of(Explain(t.Context(), missing, access)); !strings.Contains(got.Message, want) {
			t.Errorf("got %q, want %q", got.Message, want)
		}
	}
}

// TestMissingKindOfAgentsMeansThatTheOperatorIsNotInstalled uses the error that client-go returns for a named object if the
// API server does not serve its kind.
func TestMissingKindOfAgentsMeansThatTheOperatorIsNotInstalled(t *testing.T) {
	agents := schema.GroupResource{Group: "a2a-operator.dev", Resource: "agents"}
	access := Access{Group: agents.Group, Resource: agents.Resource, Verb: "get", Name: "echo"}
	for want, err := range map[string]error{
		"the operator is not installed": apierrors.NewGenericServerResponse(http.StatusNotFound, "get", agents, "echo", "404 page not found", 0, true),
		"there is no":                   apierrors.NewNotFound(agents, "echo"),
	} {
		if got := failure.Of(Explain(t.Context(), err, access)); !strings.Contains(got.Message, want) {
			t.Errorf("got %q, want %q", got.Message, want)
		}
	}
}

func TestMissingObjectsAndInvalidOnesHaveTheirCodeAndText(t *testing.T) {
	for resource, want := range map[string]failure.Code{"agents": failure.CardNotFound, "serviceaccounts": failure.CredentialsMissing, "deployments": failure.Usage} {
		access := Access{Resource: resource, Verb: "get", Namespace: "team", Name: "echo"}
		err := apierrors.NewNotFound(schema.GroupResource{Resource: resource}, "echo")
		if got := failure.Of(Explain(t.Context(), err, access)); got.Code != want {
			t.Errorf("a missing object of %s has the code %s, want %s", resource, got.Code, want)
		}
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Agent"}, "default", field.ErrorList{field.Invalid(nil, nil, "metadata.name must not be default")})
	got := failure.Of(Explain(t.Context(), invalid, Access{Resource: "agents", Verb: "apply"}))
	if strings.Contains(got.Message, "<nil>") || !strings.Contains(got.Message, "metadata.name must not be default") {
		t.Errorf("the message is %q", got.Message)
	}
}
