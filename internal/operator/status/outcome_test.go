// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// TestConflictMessageNamesTheFix: Kubernetes always recreates the ServiceAccount "default" of a
// namespace, so the message does not ask the user to delete it.
func TestConflictMessageNamesTheFix(t *testing.T) {
	for kind, want := range map[string]string{
		"ServiceAccount": `ServiceAccount "default" belongs to the namespace, so the operator writes nothing; delete this Agent and create it with another metadata.name`,
		"Service": `Service "default" exists and does not belong to this Agent, so the operator writes nothing; ` +
			`delete this Agent and create it with another metadata.name, or delete the Service if it is not needed`,
	} {
		outcome := Outcome{Core: state.Written{Conflicts: []state.Conflict{{Kind: kind, Name: "default"}}}}
		want := []state.Problem{{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict, Message: want}}
		if diff := cmp.Diff(want, outcome.Problems(nil)); diff != "" {
			t.Errorf("problems of a %s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestProblemsOfRoutes checks that problems of routes belong to the condition Exposed, and that
// the report RoutePending of a Gateway is omitted if a route could not be written.
func TestProblemsOfRoutes(t *testing.T) {
	pending := state.Problem{Condition: a2av1alpha1.ConditionExposed, Reason: a2av1alpha1.ReasonRoutePending}
	rejection := state.Rejection{Kind: "HTTPRoute", Name: "echo", Message: "no"}
	for name, test := range map[string]struct {
		outcome Outcome
		want    []string
	}{
		"written":              {Outcome{}, []string{a2av1alpha1.ReasonRoutePending}},
		"rejected":             {Outcome{Routes: state.Written{Rejection: &rejection}}, []string{a2av1alpha1.ReasonApplyFailed}},
		"in conflict":          {Outcome{Routes: state.Written{Conflicts: []state.Conflict{{}}}}, []string{a2av1alpha1.ReasonConflict}},
		"the write is retried": {Outcome{RoutesFailed: true}, []string{a2av1alpha1.ReasonApplyFailed}},
		"not deleted":          {Outcome{Routes: state.Written{NotDeleted: []state.Rejection{rejection}}}, []string{a2av1alpha1.ReasonForbidden, a2av1alpha1.ReasonRoutePending}},
	} {
		var got []string
		for _, p := range test.outcome.Problems([]state.Problem{pending}) {
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

// TestRejectionsNameTheCure has rejections whose cause is not in the spec of the Agent.
func TestRejectionsNameTheCure(t *testing.T) {
	webhook := state.Rejection{Kind: "Deployment", Name: "echo", Webhook: "w.example", Message: `failed calling webhook "w.example": connection refused`}
	immutable := "ConfigMap is invalid: data: Forbidden: field is immutable when `immutable` is set"
	for name, test := range map[string]struct {
		outcome Outcome
		want    []state.Problem
	}{
		"webhook": {Outcome{Core: state.Written{Rejection: &webhook}}, []state.Problem{{
			Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonWebhookFailed, Transient: true,
			Message: `The API server does not write Deployment "echo", because admission webhook "w.example" does not answer; repair or remove the webhook, ` +
				`the operator retries within a minute: failed calling webhook "w.example": connection refused`,
		}}},
		"immutable ConfigMap": {Outcome{Core: state.Written{Rejection: &state.Rejection{Kind: "ConfigMap", Name: "echo-a2a-config", Message: immutable}}}, []state.Problem{{
			Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonApplyFailed,
			Message: `ConfigMap "echo-a2a-config" cannot be changed; delete it, and the operator creates it again: ` + immutable,
		}}},
		"metadata that is too large": {Outcome{Core: state.Written{Rejection: &state.Rejection{Kind: "Deployment", Name: "echo", TooLarge: true}}}, []state.Problem{{
			Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonApplyFailed,
			Message: `The metadata of Deployment "echo" is too large for the operator; remove the labels, annotations or finalizers that others have added to it`,
		}}},
		"immutable selector of a Deployment": {Outcome{Core: state.Written{Rejection: &state.Rejection{Kind: "Deployment", Name: "echo", Message: "spec.selector: field is immutable"}}}, []state.Problem{{
			Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonApplyFailed,
			Message: `Deployment "echo" cannot be changed; delete it, and the operator creates it again: spec.selector: field is immutable`,
		}}},
	} {
		if diff := cmp.Diff(test.want, test.outcome.Problems(nil)); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", name, diff)
		}
	}
}

func TestActionsNameTheRightThing(t *testing.T) {
	in := healthy(func(in *Inputs) {
		in.Observed.Agent.Spec.Workload.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	})
	for message, want := range map[string]string{
		"0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.": "correct spec.workload.template.spec.nodeSelector, or label a node",
		"0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.":              "add the toleration to spec.workload.template.spec.tolerations, or remove the taint",
		`persistentvolumeclaim "data" not found`:                                        "create the PersistentVolumeClaim, or correct spec.workload.template.spec.volumes",
		"0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.":           "add capacity, or reduce the resource requests of spec.workload.template.spec",
		"something new": "add capacity, or change the requests and constraints of spec.workload.template.spec",
	} {
		if got := schedulingAction(in, message); got != want {
			t.Errorf("%s: %s", message, got)
		}
	}
	for message, want := range map[string]string{
		`pods "echo-" is forbidden: error looking up service account agents/robot: serviceaccount "robot" not found`: `; create ServiceAccount "robot", or correct spec.workload.template.spec.serviceAccountName`,
		"exceeded quota": "; correct spec.workload.template, or ask the administrator of the namespace about its quotas and policies",
	} {
		if got := rejectionAction(in, in.Observed.Children.Deployment, message); got != want {
			t.Errorf("%s: %s", message, got)
		}
	}
	for message, want := range map[string]string{
		`Back-off pulling image "a"`: "",
		`Back-off pulling image "a": ErrImagePull: rpc error: code = NotFound desc = a: not found`:                "a: not found",
		"rpc error: code = NotFound desc = a: not found":                                                          "a: not found",
		"dial tcp: lookup r on 10.0.0.10:53: read udp 10.0.2.15:54321->10.0.0.10:53: i/o timeout; try\nit again.": "dial tcp: lookup r on 10.0.0.10:53: read udp 10.0.0.10:53: i/o timeout, try it again",
	} {
		if got := pullCause(message); got != want {
			t.Errorf("pullCause(%q) = %q", message, got)
		}
	}
}

// TestCauseOfAPullStays has a kubelet that does not repeat the cause while it waits.
func TestCauseOfAPullStays(t *testing.T) {
	in := healthy(onlyPod(pod("echo-1", false, waiting(waitingErrImagePull, "rpc error: code = NotFound desc = no such tag"))))
	first := Agent(in).Status
	in.Observed.Agent.Status = first
	in.Observed.Pods[0] = pod("echo-1", false, waiting(waitingImagePullBackOff, `Back-off pulling image "example/echo:1"`))
	message := meta.FindStatusCondition(first.Conditions, a2av1alpha1.ConditionAvailable).Message
	if second := Agent(in).Status; !Equal(first, second) || !strings.Contains(message, `container "agent" cannot be pulled: no such tag; correct`) {
		t.Errorf("the condition says %q, then %+v", message, second.Conditions)
	}
}
