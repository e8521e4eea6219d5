// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/applyresult"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// TestConflictMessageNamesTheFix: Kubernetes always recreates the ServiceAccount "default" of a
// namespace, so the message does not ask the user to delete it.
func TestConflictMessageNamesTheFix(t *testing.T) {
	for kind, want := range map[string]string{
		"ServiceAccount": `ServiceAccount "default" belongs to the namespace, so the operator writes nothing; delete this Agent and create it with another metadata.name`,
		"Service": `Service "default" exists and does not belong to this Agent, so the operator writes nothing; ` +
			`delete it, or delete this Agent and create it with another metadata.name`,
	} {
		outcome := Outcome{Core: applyresult.Result{Conflicts: []applyresult.Conflict{{Kind: kind, Name: "default"}}}}
		want := []usererror.Problem{{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict, Message: want}}
		if diff := cmp.Diff(want, outcome.Problems(nil)); diff != "" {
			t.Errorf("problems of a %s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestProblemsOfRoutes checks that problems of routes belong to the condition Exposed, and that
// the report RoutePending of a Gateway is omitted if a route could not be written.
func TestProblemsOfRoutes(t *testing.T) {
	pending := usererror.Problem{Condition: a2av1alpha1.ConditionExposed, Reason: a2av1alpha1.ReasonRoutePending}
	rejection := applyresult.Rejection{Kind: "HTTPRoute", Name: "echo", Message: "no"}
	for name, test := range map[string]struct {
		outcome Outcome
		want    []string
	}{
		"written":              {Outcome{}, []string{a2av1alpha1.ReasonRoutePending}},
		"rejected":             {Outcome{Routes: applyresult.Result{Rejection: &rejection}}, []string{a2av1alpha1.ReasonApplyFailed}},
		"in conflict":          {Outcome{Routes: applyresult.Result{Conflicts: []applyresult.Conflict{{}}}}, []string{a2av1alpha1.ReasonConflict}},
		"the write is retried": {Outcome{RoutesFailed: true}, []string{a2av1alpha1.ReasonApplyFailed}},
		"not deleted":          {Outcome{Routes: applyresult.Result{NotDeleted: []applyresult.Rejection{rejection}}}, []string{a2av1alpha1.ReasonForbidden, a2av1alpha1.ReasonRoutePending}},
	} {
		var got []string
		for _, p := range test.outcome.Problems([]usererror.Problem{pending}) {
			if p.Condition != a2av1alpha1.ConditionExposed || p.Reason != a2av1alpha1.ReasonRoutePending && p.Message == "" {
				t.Errorf("%s: problem %+v", name, p)
			}
			got = append(got, p.Reason)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: reasons (-want +got):\n%s", name, diff)
		}
	}
}
