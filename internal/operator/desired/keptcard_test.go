// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// agentOf returns the Agent of a case, without any of its objects in the cluster.
func agentOf(t *testing.T, name string) state.Agent {
	t.Helper()
	in := readCase(t, filepath.Join("testdata", name, "input.yaml"))
	in.Agent.UID = "agent-uid"
	return in
}

// publish stores the desired objects in the input, as the operator does in the cluster.
func publish(t *testing.T, in *state.Agent) Result {
	t.Helper()
	result, err := Agent(*in, testPlatform)
	if err != nil || result.Objects == nil {
		t.Fatalf("Agent() = %+v, %v", result.Problems, err)
	}
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(in.Agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))}
	in.Children.ConfigMap = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: result.Objects.ConfigMap.Annotations, OwnerReferences: owner},
		Data:       result.Objects.ConfigMap.Data,
	}
	if files := result.Objects.SkillFiles; files != nil {
		in.Children.SkillFiles = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: files.Annotations, OwnerReferences: owner}}
	}
	in.Children.Deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owner}}
	return result
}

// loseSkill adds a reference to a skill that does not exist.
func loseSkill(in *state.Agent) {
	in.Agent.Spec.SkillRefs = append(in.Agent.Spec.SkillRefs, a2av1alpha1.AgentSkillRef{Name: "gone"})
}

func configIn(t *testing.T, result Result) *sidecarconfig.Config {
	t.Helper()
	if result.Objects == nil {
		t.Fatalf("Agent() makes no objects: %+v", result.Problems)
	}
	config, err := sidecarconfig.Decode([]byte(result.Objects.ConfigMap.Data[sidecarconfig.FileName]))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func desiredOf(t *testing.T, in state.Agent) Result {
	t.Helper()
	result, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestRestrictionsApplyWithoutASkill changes every restriction while a skill is missing and the rest of the card
// is edited.
func TestRestrictionsApplyWithoutASkill(t *testing.T) {
	in := agentOf(t, "skills")
	in.Agent.Spec.PushNotifications = &a2av1alpha1.AgentPushNotifications{
		AllowedTargets: []a2av1alpha1.PushTarget{{CIDR: "203.0.113.0/24"}, {CIDR: "198.51.100.0/24"}},
	}
	before := configIn(t, publish(t, &in))

	loseSkill(&in)
	spec := &in.Agent.Spec
	spec.Description, spec.Version = "Somebody else.", "9.9.9"
	spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny, Namespaces: []string{"left"}}}
	spec.Access.CORS = &a2av1alpha1.AccessCORS{AllowedOrigins: []string{"https://app.example.com"}}
	spec.Access.TLS = &a2av1alpha1.AccessTLS{SecretRef: a2av1alpha1.SecretReference{Name: "cert"}}
	spec.Access.Authentication = []a2av1alpha1.Authentication{{
		Type: a2av1alpha1.AuthenticationAPIKey, APIKey: &a2av1alpha1.APIKeyAuthentication{SecretRef: a2av1alpha1.SecretReference{Name: "keys"}},
	}}
	spec.Limits = &a2av1alpha1.AgentLimits{Requests: &a2av1alpha1.RequestRate{PerSecond: 1, Burst: 1}}
	spec.NetworkPolicy.Egress = nil
	spec.PushNotifications.AllowedTargets = spec.PushNotifications.AllowedTargets[:1]
	spec.Suspend = true

	result := desiredOf(t, in)
	config := configIn(t, result)
	if !result.CardKept || len(result.Problems) != 1 || result.Problems[0].Reason != a2av1alpha1.ReasonSkillNotFound {
		t.Errorf("kept = %t, problems %+v", result.CardKept, result.Problems)
	}
	kept := config.Card
	wantCard := before.Card
	// The access and the interfaces of the card come from the current spec.
	wantCard.Interfaces, wantCard.SecuritySchemes = kept.Interfaces, config.Access.Schemes()
	if diff := cmp.Diff(wantCard, kept); diff != "" {
		t.Errorf("the card is not the published one (-want +got):\n%s", diff)
	}
	for _, i := range kept.Interfaces {
		if i.Binding != card.GRPC && !strings.HasPrefix(i.URL, "https://") {
			t.Errorf("the card lists %s, the agent serves TLS", i.URL)
		}
	}
	if rules := config.Access.Authorization.Rules; len(rules) != 1 || rules[0].Action != sidecarconfig.ActionDeny {
		t.Errorf("rules %+v", rules)
	}
	if a := config.Access.Authentication; len(a) != 1 || a[0].Type != sidecarconfig.AuthenticationAPIKey {
		t.Errorf("authentication %+v", a)
	}
	if config.Access.CORS == nil || config.Limits.Requests.PerSecond != 1 || len(config.PushNotifications.AllowedTargets) != 1 {
		t.Errorf("cors %+v, limits %+v, push %+v", config.Access.CORS, config.Limits, config.PushNotifications)
	}
	if got := *result.Objects.Deployment.Spec.Replicas; got != 0 {
		t.Errorf("replicas = %d of a suspended Agent", got)
	}
	mounted := false
	for _, v := range result.Objects.Deployment.Spec.Template.Spec.Volumes {
		mounted = mounted || *v.Name == a2av1alpha1.VolumeTLS
	}
	if !mounted {
		t.Error("the pods do not get the certificate that spec.access.tls names")
	}
	if result.Card.Skills != int32(len(before.Card.Skills)) {
		t.Errorf("the card has %d skills", result.Card.Skills)
	}

	// The kept card is kept again with the same bytes, so that an Agent in sync sends no request.
	again := desiredOf(t, func() state.Agent { publish(t, &in); return in }())
	if diff := cmp.Diff(result.Objects.ConfigMap.Data, again.Objects.ConfigMap.Data); diff != "" {
		t.Errorf("the second configuration differs from the first:\n%s", diff)
	}
	// When the skill exists again, the card follows the spec again.
	in.Agent.Spec.SkillRefs = in.Agent.Spec.SkillRefs[:len(in.Agent.Spec.SkillRefs)-1]
	if mended := desiredOf(t, in); mended.CardKept || configIn(t, mended).Card.Description != "Somebody else." {
		t.Errorf("the card is still kept: %+v", mended.Problems)
	}
}

// TestKeptConfigurationsAreStable checks, for every case, that keeping the card twice gives the same configuration.
func TestKeptConfigurationsAreStable(t *testing.T) {
	inputs, _ := filepath.Glob("testdata/*/input.yaml")
	for _, input := range inputs {
		in := agentOf(t, filepath.Base(filepath.Dir(input)))
		if first := desiredOf(t, in); first.Objects == nil {
			continue
		}
		first := publish(t, &in)
		loseSkill(&in)
		kept := publish(t, &in)
		if diff := cmp.Diff(first.Objects.ConfigMap.Data, kept.Objects.ConfigMap.Data); diff != "" || !kept.CardKept {
			t.Errorf("%s: kept = %t, the configuration differs (-published +kept):\n%s", input, kept.CardKept, diff)
		}
		if again := desiredOf(t, in); again.Card != kept.Card {
			t.Errorf("%s: published %+v, then %+v", input, kept.Card, again.Card)
		}
	}
}

func TestNothingIsCreatedWithoutACard(t *testing.T) {
	in := agentOf(t, "skills")
	loseSkill(&in)
	if result := desiredOf(t, in); result.Objects != nil || result.CardKept {
		t.Errorf("the first apply with a missing skill makes %+v", result.Objects)
	}
}

// TestLostCardGetsTheDefaultSkill checks that restrictions take effect without the former card, and that the new card has
// only the default skill.
func TestLostCardGetsTheDefaultSkill(t *testing.T) {
	for name, lose := range map[string]func(*state.Agent){
		"deleted":                      func(in *state.Agent) { in.Children.ConfigMap = nil },
		"of another":                   func(in *state.Agent) { in.Children.ConfigMap.OwnerReferences = nil },
		"with an edited configuration": func(in *state.Agent) { in.Children.ConfigMap.Data[sidecarconfig.FileName] += " " },
		"emptied":                      func(in *state.Agent) { in.Children.ConfigMap.Data = nil },
		"of another name":              func(in *state.Agent) { forge(in, `{"version":"v1","agent":{"namespace":"x","name":"y"}}`) },
		"too large":                    func(in *state.Agent) { forge(in, strings.Repeat(" ", sidecarconfig.MaxSize+1)) },
		"no JSON":                      func(in *state.Agent) { forge(in, "{") },
	} {
		t.Run(name, func(t *testing.T) {
			in := agentOf(t, "skills")
			publish(t, &in)
			loseSkill(&in)
			lose(&in)
			in.Agent.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny}}
			result := desiredOf(t, in)
			config := configIn(t, result)
			if !result.CardKept || config.Access.Authorization == nil {
				t.Errorf("kept = %t, authorization %+v", result.CardKept, config.Access.Authorization)
			}
			if len(config.Card.Skills) != 1 || config.Card.Skills[0].ID != in.Agent.Name {
				t.Errorf("skills %+v, want the default one", config.Card.Skills)
			}
		})
	}
}

// forge replaces the sidecar configuration and its digest.
func forge(in *state.Agent, text string) {
	in.Children.ConfigMap.Data = map[string]string{sidecarconfig.FileName: text}
	in.Children.ConfigMap.Annotations = map[string]string{a2av1alpha1.AnnotationConfigDigest: sidecarconfig.Digest([]byte(text))}
}

// TestCardWithoutRoomForRules: a user with access to the ConfigMap could write a card that leaves no room for the rules
// of the spec, and so prevent a revocation of access while a skill is missing.
func TestCardWithoutRoomForRules(t *testing.T) {
	deny := []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny, Namespaces: []string{"left"}}}
	in := agentOf(t, "minimal")
	published := configIn(t, publish(t, &in))
	// The card fills the ConfigMap, so that the configuration has no more room for rules.
	published.Card.Description = strings.Repeat("d", sidecarconfig.MaxSize-8<<10)
	for range 2 {
		encoded, err := sidecarconfig.Encode(published)
		if err != nil {
			t.Fatal(err)
		}
		published.Card.Description += strings.Repeat("d", sidecarconfig.MaxSize-len(encoded))
		forge(&in, string(encoded))
	}
	loseSkill(&in)
	in.Agent.Spec.Access.Authorization = deny
	result := desiredOf(t, in)
	config := configIn(t, result)
	if rules := config.Access.Authorization.Rules; !result.CardKept || len(rules) != 1 || rules[0].Action != sidecarconfig.ActionDeny {
		t.Errorf("kept = %t, rules %+v", result.CardKept, rules)
	}
	if !hasReason(result.Problems, a2av1alpha1.ReasonSkillNotFound) || !hasReason(result.Problems, a2av1alpha1.ReasonCardTooLarge) {
		t.Errorf("problems %+v", result.Problems)
	}
	if len(config.Card.Skills) != 1 || config.Card.Skills[0].ID != in.Agent.Name || config.Card.Description != in.Agent.Spec.Description {
		t.Errorf("card %+v, want the one with the default skill", config.Card.Skills)
	}

	// The result is the same if the card of the spec is too large.
	publish(t, &in)
	forge(&in, string(must(sidecarconfig.Encode(published))))
	in.Agent.Spec.SkillRefs = nil
	in.Agent.Spec.Skills = nil
	for i := range 400 {
		in.Skills.Selected = append(in.Skills.Selected, &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("s", i+1)},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Description: strings.Repeat("d", 4096)}},
		})
	}
	if rules := configIn(t, desiredOf(t, in)).Access.Authorization.Rules; len(rules) != 1 {
		t.Errorf("rules %+v", rules)
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// TestKeptCardHidesSkillsThatBecameExtended checks that a kept card hides a skill that is now Extended, because
// visibility is a restriction.
func TestKeptCardHidesSkillsThatBecameExtended(t *testing.T) {
	in := agentOf(t, "minimal")
	in.Agent.Spec.Skills = []a2av1alpha1.Skill{{ID: "pay", SkillDetails: a2av1alpha1.SkillDetails{Name: "Pay", Tags: []string{"p"}}}}
	publish(t, &in)
	loseSkill(&in)
	in.Agent.Spec.Skills[0].Visibility = a2av1alpha1.SkillVisibilityExtended
	config := configIn(t, publish(t, &in))
	if public := config.Card.Public().Skills; len(public) != 1 || public[0].ID != in.Agent.Name {
		t.Errorf("public skills %+v, want only the one that stands for the agent", public)
	}
	if !config.Card.Capabilities.ExtendedCard || len(config.Card.Skills) != 2 {
		t.Errorf("card %+v", config.Card)
	}
	in.Agent.Spec.Skills[0].Visibility = a2av1alpha1.SkillVisibilityPublic
	if again := configIn(t, desiredOf(t, in)); len(again.Card.Public().Skills) != 1 {
		t.Error("a kept card shows more than it did")
	}
}

func TestFormerCardIsKeptForATooLargeOne(t *testing.T) {
	in := agentOf(t, "minimal")
	before := configIn(t, publish(t, &in))
	for i := range 400 {
		in.Skills.Selected = append(in.Skills.Selected, &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("s", i+1)},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Description: strings.Repeat("d", 4096)}},
		})
	}
	in.Agent.Spec.Limits = &a2av1alpha1.AgentLimits{MaxBodyBytes: 1024}
	result := desiredOf(t, in)
	config := configIn(t, result)
	if !result.CardKept || len(result.Problems) != 1 || result.Problems[0].Reason != a2av1alpha1.ReasonCardTooLarge {
		t.Errorf("kept = %t, problems %+v", result.CardKept, result.Problems)
	}
	if diff := cmp.Diff(before.Card, config.Card); diff != "" || config.Limits.MaxBodyBytes != 1024 {
		t.Errorf("limits %+v, card (-want +got):\n%s", config.Limits, diff)
	}
}

// TestRulesForMissingSkills checks that a rule for a skill that once existed does not prevent the application of a new
// rule, and that a rule for a skill that never existed does.
func TestRulesForMissingSkills(t *testing.T) {
	deny := func(skill string) a2av1alpha1.AuthorizationRule {
		return a2av1alpha1.AuthorizationRule{Action: a2av1alpha1.AuthorizationDeny, Skills: []string{skill}}
	}
	in := agentOf(t, "minimal")
	pay := &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.Agent.Namespace, Name: "pay"},
		Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "Pay", Tags: []string{"p"}}},
	}
	in.Skills.Selected = []*a2av1alpha1.AgentSkill{pay}
	in.Agent.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{deny("pay")}
	publish(t, &in)

	in.Skills.Selected = nil
	in.Agent.Spec.Access.Authorization = append(in.Agent.Spec.Access.Authorization,
		a2av1alpha1.AuthorizationRule{Action: a2av1alpha1.AuthorizationDeny, Namespaces: []string{"left"}})
	for range 2 { // the second time, the published card does not have the skill either
		result := publish(t, &in)
		if rules := configIn(t, result).Access.Authorization.Rules; len(rules) != 2 || len(result.Problems) > 0 {
			t.Errorf("rules %+v, problems %+v", rules, result.Problems)
		}
		if !hasReason(result.Remarks, a2av1alpha1.ReasonUnknownSkillInRule) {
			t.Errorf("remarks %+v", result.Remarks)
		}
	}

	in.Agent.Spec.Access.Authorization[0] = deny("pya")
	if result := desiredOf(t, in); result.Objects != nil || !hasReason(result.Problems, a2av1alpha1.ReasonUnknownSkillInRule) {
		t.Errorf("a rule about a skill that never was is taken: %+v", result.Problems)
	}

	// While skills cannot be resolved, rules may name the skills of the spec.
	loseSkill(&in)
	in.Agent.Spec.Skills = []a2av1alpha1.Skill{{ID: "new", SkillDetails: a2av1alpha1.SkillDetails{Name: "New", Tags: []string{"n"}}}}
	in.Agent.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{deny("gone"), deny("new")}
	if result := desiredOf(t, in); result.Objects == nil || !result.CardKept {
		t.Errorf("rules about skills that are about to come: %+v", result.Problems)
	}
	in.Agent.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{deny("pya")}
	if result := desiredOf(t, in); result.Objects != nil {
		t.Error("a rule about a skill that never was is taken while another skill is missing")
	}
}

// TestScopesForMissingSkills is TestRulesForMissingSkills for jwt.skillScopes: a mistaken id would leave the skill open
// that the author means.
func TestScopesForMissingSkills(t *testing.T) {
	in := agentOf(t, "minimal")
	pay := &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.Agent.Namespace, Name: "pay"},
		Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Name: "Pay", Tags: []string{"p"}}},
	}
	in.Skills.Selected = []*a2av1alpha1.AgentSkill{pay}
	jwt := &a2av1alpha1.JWTAuthentication{
		Issuer: "https://id.example", Audiences: []string{"a"}, SkillScopes: []a2av1alpha1.SkillScopes{{Skill: "pay", Scopes: []string{"pay.write"}}},
	}
	in.Agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationJWT, JWT: jwt}}
	if result := publish(t, &in); len(result.Problems) > 0 || hasReason(result.Remarks, a2av1alpha1.ReasonUnknownSkillInRule) {
		t.Errorf("problems %+v, remarks %+v", result.Problems, result.Remarks)
	}

	in.Skills.Selected = nil
	jwt.RequiredScopes = []string{"call"}
	for range 2 { // the second time, the published card does not have the skill either
		result := publish(t, &in)
		if got := configIn(t, result).Access.Authentication[0].JWT; len(result.Problems) > 0 || len(got.SkillScopes) != 1 || len(got.RequiredScopes) != 1 {
			t.Errorf("scopes %+v, problems %+v", got, result.Problems)
		}
		if !hasReason(result.Remarks, a2av1alpha1.ReasonUnknownSkillInRule) {
			t.Errorf("remarks %+v", result.Remarks)
		}
	}

	jwt.SkillScopes[0].Skill = "pya"
	const want = `spec.access.authentication[0].jwt.skillScopes[0].skill is "pya", and the card has no skill with this id; correct the id, or remove the entry`
	result := desiredOf(t, in)
	if result.Objects != nil || len(result.Problems) != 1 || result.Problems[0].Message != want {
		t.Errorf("scopes for a skill that never was are taken: %+v", result.Problems)
	}
}

func hasReason(problems []state.Problem, reason string) bool {
	for _, p := range problems {
		if p.Reason == reason {
			return true
		}
	}
	return false
}
