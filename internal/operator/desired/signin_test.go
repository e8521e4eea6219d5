// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const discoveredIssuer = "https://login.example/realms/one"

// signIn sets how clients of the Agent sign in.
func signIn(in *state.Agent, how a2av1alpha1.OAuth2SignIn) {
	in.Agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{{
		Type: a2av1alpha1.AuthenticationJWT,
		JWT:  &a2av1alpha1.JWTAuthentication{Issuer: discoveredIssuer, Audiences: []string{"echo"}, RequiredScopes: []string{"call"}, OAuth2: &how},
	}}
}

var (
	discover = a2av1alpha1.OAuth2SignIn{
		Flows: []a2av1alpha1.OAuth2Flow{a2av1alpha1.OAuth2Discover}, Scopes: []a2av1alpha1.OAuth2Scope{{Name: "call", Description: "Call the agent"}},
	}
	discovered = []card.OAuthFlow{
		{Type: card.FlowAuthorizationCode, AuthorizationURL: "https://login.example/a", TokenURL: "https://login.example/t", PKCERequired: true},
		{Type: card.FlowDeviceCode, DeviceAuthorizationURL: "https://login.example/d", TokenURL: "https://login.example/t"},
	}
)

// TestDiscoveredFlows checks that an agent is published before the issuer answers, that its card in every form then equals that of an Agent
// whose spec lists the flows, and that the flows stay while the issuer is away, also after a restart of the operator.
func TestDiscoveredFlows(t *testing.T) {
	in := agentOf(t, "minimal")
	signIn(&in, discover)
	if config := configIn(t, publish(t, &in)); len(config.Access.Authentication[0].JWT.Flows) != 0 {
		t.Errorf("flows before the first read: %+v", config.Access.Authentication[0].JWT.Flows)
	}
	in.Remote = &state.Remote{Flows: discovered}
	answered := publish(t, &in)

	listed := agentOf(t, "minimal")
	signIn(&listed, a2av1alpha1.OAuth2SignIn{
		Flows:            []a2av1alpha1.OAuth2Flow{a2av1alpha1.OAuth2AuthorizationCode, a2av1alpha1.OAuth2DeviceCode},
		AuthorizationURL: "https://login.example/a", DeviceAuthorizationURL: "https://login.example/d", TokenURL: "https://login.example/t",
		Scopes: discover.Scopes,
	})
	want := configIn(t, publish(t, &listed))
	got := configIn(t, answered)
	for form := range card.Forms {
		if diff := cmp.Diff(rendered(t, want, card.Form(form)), rendered(t, got, card.Form(form))); diff != "" {
			t.Errorf("form %d: %s", form, diff)
		}
	}

	failure := state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonSignInUnknown, "the issuer is away")
	for name, remote := range map[string]*state.Remote{
		"the issuer is away":                 {Flows: discovered, Failure: &failure},
		"the issuer is away since a restart": {Failure: &failure},
		"a restart":                          nil,
	} {
		in.Remote = remote
		result := publish(t, &in)
		if diff := cmp.Diff(discovered, configIn(t, result).Access.Authentication[0].JWT.Flows); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if remote == nil {
			continue
		}
		if !hasRemark(result, a2av1alpha1.ReasonSignInUnknown, "the issuer is away. The card keeps the flows that the operator read last") {
			t.Errorf("%s: remarks = %+v", name, result.Remarks)
		}
	}

	// Flows of a former issuer lead clients to tokens that the agent refuses.
	in.Agent.Spec.Access.Authentication[0].JWT.Issuer = "https://other.example"
	in.Remote = &state.Remote{Failure: &failure}
	result := publish(t, &in)
	if flows := configIn(t, result).Access.Authentication[0].JWT.Flows; len(flows) != 0 {
		t.Errorf("flows of another issuer stay: %+v", flows)
	}
	if !hasRemark(result, a2av1alpha1.ReasonSignInUnknown, "The card names no flow until then") {
		t.Errorf("remarks = %+v", result.Remarks)
	}
}

func rendered(t *testing.T, config *sidecarconfig.Config, form card.Form) string {
	t.Helper()
	text, err := card.Render(&config.Card, form)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "https://login.example/a") {
		t.Errorf("the card in form %d has no flow: %s", form, text)
	}
	return string(text)
}

func hasRemark(result Result, reason, text string) bool {
	for _, remark := range result.Remarks {
		if remark.Reason == reason && strings.Contains(remark.Message, text) {
			return true
		}
	}
	return false
}
