// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// remoteInputs returns the inputs of a Ready remote Agent.
func remoteInputs(change ...func(*Inputs)) Inputs {
	in := Inputs{
		Observed: state.Agent{
			Agent: &a2av1alpha1.Agent{
				ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "far", Generation: 2},
				Spec:       a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://far.example"}},
			},
			Remote: &state.Remote{Card: &state.RemoteCard{Text: `{"name":"Far"}`}},
		},
		Card:    &Card{URL: "https://far.example", CardDigest: "card", ConfigDigest: "x", Skills: 3},
		Applied: true,
		Now:     now,
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

// remoteCase is a remote Agent, and its conditions except Exposed.
type remoteCase struct {
	change []func(*Inputs)
	want   []string
	digest string
}

// remoteCases returns a remote Agent in each state.
func remoteCases() map[string]remoteCase {
	// former sets the status that an operator wrote before its restart, while the agent
	// was Ready.
	former := func(in *Inputs) {
		in.Observed.Agent.Status = Agent(remoteInputs()).Status
	}
	unread := func(in *Inputs) {
		in.Observed.Remote, in.Card, in.Applied = nil, nil, false
	}
	failing := func(reason string) func(*Inputs) {
		return func(in *Inputs) {
			in.Observed.Remote = &state.Remote{Failure: &state.Problem{
				Condition: a2av1alpha1.ConditionAvailable, Reason: reason, Message: "What failed",
			}}
		}
	}
	unreachable := failing(a2av1alpha1.ReasonRemoteUnreachable)
	ready := []string{"True Accepted", "True Resolved", "True Programmed", "True Available", "True Published", "True Ready"}
	return map[string]remoteCase{
		"ready": {want: ready, digest: "card"},
		"addresses left out": {
			change: []func(*Inputs){func(in *Inputs) {
				in.Remarks = []state.Problem{{Condition: a2av1alpha1.ConditionAvailable, Reason: a2av1alpha1.ReasonAddressesOmitted, Message: "2"}}
			}},
			want:   []string{"True Accepted", "True Resolved", "True Programmed", "True AddressesOmitted", "True Published", "True Ready"},
			digest: "card",
		},
		"not read yet": {
			change: []func(*Inputs){unread},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "Unknown Pending", "False NotProgrammed", "Unknown Pending"},
		},
		"not read yet by the next operator": {change: []func(*Inputs){former, unread}, want: ready, digest: "card"},
		"not read yet after an edit": {
			change: []func(*Inputs){former, unread, func(in *Inputs) { in.Observed.Agent.Generation++ }},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "Unknown Pending", "False NotProgrammed", "Unknown Pending"},
			digest: "card",
		},
		"unreachable from the first": {
			change: []func(*Inputs){unread, unreachable},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "False RemoteUnreachable", "False NotProgrammed", "False RemoteUnreachable"},
		},
		"forbidden from the first": {
			change: []func(*Inputs){unread, failing(a2av1alpha1.ReasonRemoteForbidden)},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "False RemoteForbidden", "False NotProgrammed", "False RemoteForbidden"},
		},
		"no card is served": {
			change: []func(*Inputs){unread, failing(a2av1alpha1.ReasonRemoteCardNotServed)},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "False RemoteCardNotServed", "False NotProgrammed", "False RemoteCardNotServed"},
		},
		"no card that can be listed": {
			change: []func(*Inputs){unread, failing(a2av1alpha1.ReasonRemoteCardInvalid)},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "False RemoteCardInvalid", "False NotProgrammed", "False RemoteCardInvalid"},
		},
		"no credentials": {
			change: []func(*Inputs){unread, failing(a2av1alpha1.ReasonRemoteCredentialsUnusable)},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "False RemoteCredentialsUnusable", "False NotProgrammed", "False RemoteCredentialsUnusable"},
		},
		"too large": {
			change: []func(*Inputs){unread, func(in *Inputs) {
				in.Observed.Remote = &state.Remote{Card: &state.RemoteCard{Text: `{"name":"Far"}`}}
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonCardTooLarge, Message: "x"}}
			}},
			want: []string{"True Accepted", "False CardTooLarge", "False Blocked", "True Available", "False NotProgrammed", "False CardTooLarge"},
		},
		"unreachable by now": {
			change: []func(*Inputs){former, unreachable, func(in *Inputs) { in.Observed.Remote.Card = &state.RemoteCard{Text: `{"name":"Far"}`} }},
			want:   []string{"True Accepted", "True Resolved", "True Programmed", "False RemoteUnreachable", "True Published", "False RemoteUnreachable"},
			digest: "card",
		},
		"unreachable for the next operator": {
			change: []func(*Inputs){former, unread, unreachable},
			want:   []string{"True Accepted", "True Resolved", "True Programmed", "False RemoteUnreachable", "True Published", "False RemoteUnreachable"},
			digest: "card",
		},
		"not written": {
			change: []func(*Inputs){func(in *Inputs) { in.Applied = false }},
			want:   []string{"True Accepted", "True Resolved", "Unknown ApplyFailed", "True Available", "False NotProgrammed", "Unknown ApplyFailed"},
		},
		"a foreign ConfigMap": {
			change: []func(*Inputs){func(in *Inputs) {
				in.Applied = false
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict, Message: "x"}}
			}},
			want: []string{"True Accepted", "True Resolved", "False Conflict", "True Available", "False NotProgrammed", "False Conflict"},
		},
		"suspended": {
			change: []func(*Inputs){former, unread, func(in *Inputs) { in.Observed.Agent.Spec.Suspend = true; in.Observed.Agent.Generation++ }},
			want:   []string{"True Accepted", "True Resolved", "True Programmed", "False Suspended", "True Published", "False Suspended"},
			digest: "card",
		},
		"suspended from the first": {
			change: []func(*Inputs){unread, func(in *Inputs) { in.Observed.Agent.Spec.Suspend = true }},
			want:   []string{"True Accepted", "Unknown Pending", "False Blocked", "False Suspended", "False NotProgrammed", "False Suspended"},
		},
	}
}

func TestRemoteAgent(t *testing.T) {
	conditions := a2av1alpha1.AgentConditions()
	for name, test := range remoteCases() {
		t.Run(name, func(t *testing.T) {
			result := Agent(remoteInputs(test.change...))
			// The condition Exposed is the same in every case, because Gateways do not
			// route to an agent outside of the cluster.
			want := slices.Insert(slices.Clone(test.want), slices.Index(conditions, a2av1alpha1.ConditionExposed), "True ClusterOnly")
			always := withoutStalled(result.Status.Conditions)
			if len(always) != len(want) {
				t.Fatalf("%d conditions, want %d", len(always), len(want))
			}
			for i, c := range always {
				if got := string(c.Status) + " " + c.Reason; got != want[i] || c.Type != conditions[i] {
					t.Errorf("%s: %s (%s), want %s %s", c.Type, got, c.Message, conditions[i], want[i])
				}
				if strings.Contains(c.Message, "pod") || strings.Contains(c.Message, "Deployment") {
					t.Errorf("%s speaks of what a remote agent has not: %s", c.Type, c.Message)
				}
			}
			checkDocumented(t, result.Status.Conditions)
			if result.Status.CardDigest != test.digest || result.RecheckAfter != 0 {
				t.Errorf("digest %q, recheck after %s", result.Status.CardDigest, result.RecheckAfter)
			}
		})
	}
}
