// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// inputs returns an Agent with every kind of dependency.
func inputs(t *testing.T) state.Agent {
	t.Helper()
	agent := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "echo", UID: "agent", Generation: 1, ResourceVersion: "1", Labels: map[string]string{"team": "music"},
		},
		Spec: a2av1alpha1.AgentSpec{
			Description:   "Says it again.",
			SkillRefs:     []a2av1alpha1.AgentSkillRef{{Name: "sing", Namespace: "choir"}},
			SkillSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"music": "yes"}},
			Workload: &a2av1alpha1.AgentWorkload{
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}}}},
				Autoscaling: &a2av1alpha1.AgentAutoscaling{
					MinReplicas: 1, MaxReplicas: 3,
					Metrics: []a2av1alpha1.AutoscalingMetric{{Type: a2av1alpha1.AutoscalingMetricInFlightTurns, Target: 5}},
				},
			},
			Exposure: &a2av1alpha1.AgentExposure{
				ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public", Namespace: "edge"}}, Hostnames: []a2av1alpha1.Hostname{"echo.example"},
			},
		},
		Status: a2av1alpha1.AgentStatus{Replicas: 1, Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}},
	}
	skill := func(namespace, name string, from a2av1alpha1.FromNamespaces) *a2av1alpha1.AgentSkill {
		return &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(name), Generation: 1, ResourceVersion: "1", Labels: map[string]string{"music": "yes"},
			},
			Spec: a2av1alpha1.AgentSkillSpec{
				SkillDetails: a2av1alpha1.SkillDetails{Name: name, Description: "Does " + name + ".", Tags: []string{"music"}, Instructions: "Do it."},
				AllowedAgents: a2av1alpha1.AllowedAgents{Namespaces: a2av1alpha1.AllowedNamespaces{
					From: from, Selector: &a2av1alpha1.NamespaceSelector{MatchLabels: map[string]a2av1alpha1.LabelValue{"choir": "admitted"}},
				}},
			},
		}
	}
	in := state.Agent{
		Agent:           agent,
		NamespaceLabels: map[string]string{"choir": "admitted", "floor": "2"},
		Skills: state.Skills{
			Referenced: map[types.NamespacedName]*a2av1alpha1.AgentSkill{
				{Namespace: "choir", Name: "sing"}: skill("choir", "sing", a2av1alpha1.FromSelector),
			},
			Selected: []*a2av1alpha1.AgentSkill{skill("team", "hum", a2av1alpha1.FromSame)},
		},
		Exposure: permissionOf("*.example"),
		Issuer:   &state.Issuer{URL: "https://issuer.example", Keys: []byte(`{"keys":[]}`)},
		Remote:   &state.Remote{Card: &state.RemoteCard{Text: `{"name":"remote"}`}},
		Pods:     []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "echo-1", ResourceVersion: "1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}},
		GatewayAPI: state.GatewayAPI{HTTPRoutes: true, GRPCRoutes: true, Gateways: map[types.NamespacedName]*gatewayv1.Gateway{
			{Namespace: "edge", Name: "public"}: {
				ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "public", UID: "gateway", ResourceVersion: "1"},
				Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{{
					Name: "web", Port: 443, Protocol: gatewayv1.HTTPSProtocolType, AllowedRoutes: allowedRoutes(gatewayv1.NamespacesFromAll),
				}}},
			},
		}},
	}
	want, err := desired.Agent(in, desired.Platform{ClusterDomain: "cluster.local", SidecarImage: "example/sidecar:1"})
	if err != nil || want.Objects == nil {
		t.Fatalf("Agent() = %+v, %v", want.Problems, err)
	}
	children := &in.Children
	children.ServiceAccount = created[corev1.ServiceAccount](t, want.Objects.ServiceAccount)
	children.ConfigMap = created[corev1.ConfigMap](t, want.Objects.ConfigMap)
	children.SkillFiles = created[corev1.ConfigMap](t, want.Objects.SkillFiles)
	children.Service = created[corev1.Service](t, want.Objects.Service)
	children.Deployment = created[appsv1.Deployment](t, want.Objects.Deployment)
	children.Deployment.Status = appsv1.DeploymentStatus{Replicas: 1, ObservedGeneration: 1}
	children.NetworkPolicy = created[networkingv1.NetworkPolicy](t, want.Objects.NetworkPolicy)
	children.Autoscaler = created[autoscalingv2.HorizontalPodAutoscaler](t, want.Objects.Autoscaler)
	children.Autoscaler.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
		{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound"},
	}
	children.Budget = created[policyv1.PodDisruptionBudget](t, want.Objects.Budget)
	children.HTTPRoute = created[gatewayv1.HTTPRoute](t, want.Objects.HTTPRoute)
	children.HTTPRoute.Status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef:  gatewayv1.ParentReference{Name: "public", Namespace: new(gatewayv1.Namespace("edge"))},
		Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue}, {Type: "ResolvedRefs", Status: metav1.ConditionTrue}},
	}}
	children.GRPCRoute = &gatewayv1.GRPCRoute{ObjectMeta: *children.HTTPRoute.ObjectMeta.DeepCopy()}
	in.GatewayAPI.Claims = claimOf("twin", 1)
	return in
}

// permissionOf returns a permission for the address echo.example.
func permissionOf(hostname string) []exposure.Permission {
	return []exposure.Permission{{
		Hostnames: []string{hostname}, Paths: []string{"/"}, Gateways: []types.NamespacedName{{Namespace: "edge", Name: "public"}},
	}}
}

// allowedRoutes returns the rule of a listener that accepts routes from the given namespaces.
func allowedRoutes(from gatewayv1.FromNamespaces) *gatewayv1.AllowedRoutes {
	floor := &metav1.LabelSelector{MatchLabels: map[string]string{"floor": "2"}}
	return &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from, Selector: floor}}
}

// claimOf returns the claim of an Agent to the address echo.example, by a route that was created at
// the given second.
func claimOf(agent string, created int64) map[state.Address]state.Claim {
	at := state.Address{Gateway: types.NamespacedName{Namespace: "edge", Name: "public"}, Listener: state.AnyListener, Kind: "HTTPRoute", Host: "echo.example", Path: "/"}
	return map[state.Address]state.Claim{at: {
		Agent: types.NamespacedName{Namespace: "team", Name: agent}, Created: metav1.NewTime(time.Unix(created, 0)),
	}}
}

// moved returns the claim of claimOf at another address.
func moved(change func(*state.Address)) map[state.Address]state.Claim {
	claims := map[state.Address]state.Claim{}
	for at, claim := range claimOf("twin", 1) {
		change(&at)
		claims[at] = claim
	}
	return claims
}

// created returns the object as the API server stores it after an apply.
func created[T any, O interface {
	*T
	client.Object
}](t *testing.T, applied any) O {
	t.Helper()
	object := O(new(T))
	text, err := json.Marshal(applied)
	if err == nil {
		err = json.Unmarshal(text, object)
	}
	if err != nil {
		t.Fatal(err)
	}
	object.SetUID("child")
	object.SetGeneration(1)
	object.SetResourceVersion("1")
	object.SetOwnerReferences([]metav1.OwnerReference{{Kind: a2av1alpha1.AgentKind, Name: "echo", UID: "agent", Controller: new(true)}})
	return object
}

// edits changes every leaf of an object, one at a time, and calls check with each result. Like
// the API server, it sets a new resource version for each change, and a new generation for a
// change of the spec.
func edits[T any](t *testing.T, object *T, check func(where string, edited *T)) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	metadata := tree["metadata"].(map[string]any)
	var walk func(at string, value any, set func(any))
	walk = func(at string, value any, set func(any)) {
		switch v := value.(type) {
		case map[string]any:
			for key, member := range v {
				walk(at+"."+key, member, func(x any) { v[key] = x })
			}
			return
		case []any:
			for i, element := range v {
				walk(fmt.Sprintf("%s[%d]", at, i), element, func(x any) { v[i] = x })
			}
			return
		}
		if slices.Contains([]string{".metadata.name", ".metadata.namespace", ".metadata.resourceVersion"}, at) {
			return // these fields identify the object
		}
		before := []any{metadata["resourceVersion"], metadata["generation"]}
		set(changed(value))
		metadata["resourceVersion"] = "2"
		if !strings.HasPrefix(at, ".metadata") && !strings.HasPrefix(at, ".status") {
			metadata["generation"] = 2
		}
		edited := new(T)
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(text, edited) == nil { // a failure means that the type of the field does not match
			check(at, edited)
		}
		set(value)
		metadata["resourceVersion"], metadata["generation"] = before[0], before[1]
	}
	for name, part := range tree {
		walk("."+name, part, func(x any) { tree[name] = x })
	}
}

func changed(value any) any {
	switch v := value.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case float64:
		return v + 1
	default:
		return "x"
	}
}

// rendered returns the JSON of the desired objects.
func rendered(t *testing.T, in state.Agent) string {
	t.Helper()
	in.Remote = nil
	want, err := desired.Agent(in, desired.Platform{ClusterDomain: "cluster.local", SidecarImage: "example/sidecar:1"})
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInputDigest checks that the digest includes every input on which the desired objects
// depend, and omits the inputs that change often and on which no object depends.
func TestInputDigest(t *testing.T) {
	in := inputs(t)
	digest, want := DigestInputs(in), rendered(t, in)
	// check reports whether a change changes the digest. If the change also changes the desired
	// objects, the digest must change.
	check := func(t *testing.T, where string, now state.Agent) (changed bool) {
		t.Helper()
		changed = DigestInputs(now) != digest
		if diff := cmp.Diff(want, rendered(t, now)); diff != "" && !changed {
			t.Errorf("a change of %s changes the desired objects and not the digest (-before +after):\n%s", where, diff)
		}
		return changed
	}
	t.Run("Agent", func(t *testing.T) {
		edits(t, in.Agent, func(where string, edited *a2av1alpha1.Agent) {
			now := in
			now.Agent = edited
			if changed := check(t, where, now); changed == (strings.HasPrefix(where, ".status") || strings.HasPrefix(where, ".metadata.labels")) {
				t.Errorf("a change of %s changes the digest: %t", where, changed)
			}
		})
	})
	t.Run("referenced skill", func(t *testing.T) {
		for key, skill := range in.Skills.Referenced {
			edits(t, skill, func(where string, edited *a2av1alpha1.AgentSkill) {
				now := in
				now.Skills.Referenced = map[types.NamespacedName]*a2av1alpha1.AgentSkill{key: edited}
				check(t, where, now)
			})
		}
	})
	t.Run("selected skill", func(t *testing.T) {
		edits(t, in.Skills.Selected[0], func(where string, edited *a2av1alpha1.AgentSkill) {
			now := in
			now.Skills.Selected = []*a2av1alpha1.AgentSkill{edited}
			check(t, where, now)
		})
	})
	t.Run("Gateway", func(t *testing.T) {
		for key, gateway := range in.GatewayAPI.Gateways {
			edits(t, gateway, func(where string, edited *gatewayv1.Gateway) {
				now := in
				now.GatewayAPI.Gateways = map[types.NamespacedName]*gatewayv1.Gateway{key: edited}
				check(t, where, now)
			})
		}
	})
	for name, change := range map[string]func(*state.Agent){
		"label of the namespace by which a skill allows Agents": func(now *state.Agent) { now.NamespaceLabels = map[string]string{"choir": "banned"} },
		"no skill by reference":                                 func(now *state.Agent) { now.Skills.Referenced = nil },
		"no selected skill":                                     func(now *state.Agent) { now.Skills.Selected = nil },
		"other keys of the issuer":                              func(now *state.Agent) { now.Issuer = &state.Issuer{URL: "https://issuer.example"} },
		"authorities of the registry":                           func(now *state.Agent) { now.RegistryCA = &state.RegistryCA{} },
		"no issuer":                                             func(now *state.Agent) { now.Issuer = nil },
		"keys of the registry":                                  func(now *state.Agent) { now.TokenIssuer = &state.Issuer{URL: "registry"} },
		"another card of a remote agent":                        func(now *state.Agent) { now.Remote = &state.Remote{} },
		"no HTTPRoutes":                                         func(now *state.Agent) { now.GatewayAPI.HTTPRoutes = false },
		"no GRPCRoutes":                                         func(now *state.Agent) { now.GatewayAPI.GRPCRoutes = false },
		"Gateways that cannot be read":                          func(now *state.Agent) { now.GatewayAPI.Unreadable.Gateways = "no right" },
		"HTTPRoutes that cannot be read":                        func(now *state.Agent) { now.GatewayAPI.Unreadable.HTTPRoutes = "no right" },
		"GRPCRoutes that cannot be read":                        func(now *state.Agent) { now.GatewayAPI.Unreadable.GRPCRoutes = "no right" },
		"no claim":                                              func(now *state.Agent) { now.GatewayAPI.Claims = nil },
		"the claim of another Agent":                            func(now *state.Agent) { now.GatewayAPI.Claims = claimOf("other", 1) },
		"the claim of another route":                            func(now *state.Agent) { now.GatewayAPI.Claims = claimOf("twin", 2) },
		"a claim at another Gateway": func(now *state.Agent) {
			now.GatewayAPI.Claims = moved(func(at *state.Address) { at.Gateway.Name = "other" })
		},
		"a claim at a Gateway of another namespace": func(now *state.Agent) {
			now.GatewayAPI.Claims = moved(func(at *state.Address) { at.Gateway.Namespace = "other" })
		},
		"a claim at another listener": func(now *state.Agent) {
			now.GatewayAPI.Claims = moved(func(at *state.Address) { at.Listener = "web" })
		},
		"a claim of another kind of route": func(now *state.Agent) {
			now.GatewayAPI.Claims = moved(func(at *state.Address) { at.Kind = "GRPCRoute" })
		},
		"a claim at another hostname": func(now *state.Agent) {
			now.GatewayAPI.Claims = moved(func(at *state.Address) { at.Host = "b.example" })
		},
		"a claim at another path": func(now *state.Agent) {
			now.GatewayAPI.Claims = moved(func(at *state.Address) { at.Path = "/b" })
		},
		"no Gateway":                        func(now *state.Agent) { now.GatewayAPI.Gateways = nil },
		"no permission for the exposure":    func(now *state.Agent) { now.Exposure = nil },
		"a permission for another hostname": func(now *state.Agent) { now.Exposure = permissionOf("b.example") },
		"a permission for another path": func(now *state.Agent) {
			now.Exposure = permissionOf("*.example")
			now.Exposure[0].Paths = []string{"/b"}
		},
		"a permission for another Gateway": func(now *state.Agent) {
			now.Exposure = permissionOf("*.example")
			now.Exposure[0].Gateways[0].Name = "other"
		},
		"a permission for a Gateway of another namespace": func(now *state.Agent) {
			now.Exposure = permissionOf("*.example")
			now.Exposure[0].Gateways[0].Namespace = "other"
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := in
			if change(&now); !check(t, name, now) {
				t.Errorf("%s does not change the digest", name)
			}
		})
	}
	t.Run("label of the namespace by which a listener allows routes", func(t *testing.T) {
		in := inputs(t)
		for _, gateway := range in.GatewayAPI.Gateways {
			gateway.Spec.Listeners[0].AllowedRoutes = allowedRoutes(gatewayv1.NamespacesFromSelector)
		}
		now := in
		now.NamespaceLabels = map[string]string{"choir": "admitted", "floor": "3"}
		if rendered(t, in) == rendered(t, now) {
			t.Error("the label does not change the desired objects")
		}
		if DigestInputs(in) == DigestInputs(now) {
			t.Error("the label does not change the digest")
		}
	})
	for name, change := range map[string]func(*state.Agent){
		"a pod": func(now *state.Agent) { now.Pods = nil },
		"label of the namespace that no rule uses": func(now *state.Agent) { now.NamespaceLabels = map[string]string{"choir": "admitted"} },
	} {
		t.Run(name, func(t *testing.T) {
			now := in
			if change(&now); check(t, name, now) {
				t.Errorf("%s changes the digest", name)
			}
		})
	}
}

// TestInputDigestOfChildren checks that the digest includes the presence and every change of
// each object of the Agent, except the status of the Deployment.
func TestInputDigestOfChildren(t *testing.T) {
	in := inputs(t)
	digest := DigestInputs(in)
	check := func(t *testing.T, where string, children state.Children, want bool) {
		t.Helper()
		now := in
		now.Children = children
		if got := DigestInputs(now) != digest; got != want {
			t.Errorf("a change of %s changes the digest: %t", where, got)
		}
	}
	kinds := reflect.TypeFor[state.Children]()
	for i := range kinds.NumField() {
		without := in.Children
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		check(t, "the presence of the "+kinds.Field(i).Name, without, true)
		replaced := in.Children
		field := reflect.ValueOf(&replaced).Elem().Field(i)
		object := field.Interface().(client.Object).DeepCopyObject().(client.Object)
		object.SetUID("another")
		field.Set(reflect.ValueOf(object))
		check(t, "the UID of the "+kinds.Field(i).Name, replaced, true)
		if kinds.Field(i).Name == "Deployment" {
			continue
		}
		updated := in.Children
		field = reflect.ValueOf(&updated).Elem().Field(i)
		object = field.Interface().(client.Object).DeepCopyObject().(client.Object)
		object.SetResourceVersion("2")
		field.Set(reflect.ValueOf(object))
		check(t, "the version of the "+kinds.Field(i).Name, updated, true)
	}
	edits(t, in.Children.Deployment, func(where string, edited *appsv1.Deployment) {
		now := in.Children
		now.Deployment = edited
		check(t, "the Deployment's "+where, now, !strings.HasPrefix(where, ".status"))
	})
}
