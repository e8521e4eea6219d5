// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var testPlatform = Platform{
	SidecarImage:  "example/sidecar:1",
	ClusterDomain: "cluster.local",
	RegistryURL:   "http://registry.a2a.svc.cluster.local",

	SidecarResources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
	}},
	RegistryNamespace: "a2a",
	IssuesTokens:      true,
}

var testIssuer = &state.Issuer{URL: "https://issuer.example", Keys: []byte(`{"keys":[{"kid":"1","kty":"EC"}]}`)}

var testTokenIssuer = &state.Issuer{URL: sidecarconfig.TokenIssuer, Keys: []byte(`{"keys":[{"kid":"2","kty":"EC"}]}`)}

// TestAgent compares the desired objects for testdata/<case>/input.yaml, which has an Agent and its AgentSkills,
// with want.yaml. UPDATE_GOLDEN=1 writes want.yaml.
func TestAgent(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("Glob() = %v, %v", inputs, err)
	}
	for _, input := range inputs {
		dir := filepath.Dir(input)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			result, err := Agent(readCase(t, input), testPlatform)
			if err != nil {
				t.Fatalf("Agent() error = %v", err)
			}
			got := render(t, result)
			want := filepath.Join(dir, "want.yaml")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(want, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			wanted, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(wanted), string(got)); diff != "" {
				t.Errorf("Agent() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgentIsDeterministic(t *testing.T) {
	input := filepath.Join("testdata", "skills", "input.yaml")
	first, err := Agent(readCase(t, input), testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Agent(readCase(t, input), testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(render(t, first)), string(render(t, second))); diff != "" {
		t.Errorf("Agent() differs from itself:\n%s", diff)
	}
}

func TestAgentWritesConfigurationsThatTheSidecarReads(t *testing.T) {
	inputs, _ := filepath.Glob("testdata/*/input.yaml")
	for _, input := range inputs {
		result, err := Agent(readCase(t, input), testPlatform)
		if err != nil {
			t.Fatal(err)
		}
		if result.Objects == nil {
			continue
		}
		if _, err := sidecarconfig.Decode([]byte(result.Objects.ConfigMap.Data[sidecarconfig.FileName])); err != nil {
			t.Errorf("%s: Decode() error = %v", input, err)
		}
	}
}

func TestAgentDoesNotModifyItsInput(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "everything", "input.yaml"))
	before := in.Agent.DeepCopy()
	if _, err := Agent(in, testPlatform); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, in.Agent); diff != "" {
		t.Errorf("Agent() changed its input:\n%s", diff)
	}
}

// TestSkillEditsDoNotChangeThePod checks that a change of a skill does not restart the pods.
func TestSkillEditsDoNotChangeThePod(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "skills", "input.yaml"))
	before, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	in.Skills.Selected[0].Spec.Description = "Something else."
	in.Agent.Spec.Description = "Somebody else."
	after, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Objects.Deployment, after.Objects.Deployment); diff != "" {
		t.Errorf("the Deployment changed:\n%s", diff)
	}
	if before.Card.ConfigDigest == after.Card.ConfigDigest || before.Card.CardDigest == after.Card.CardDigest {
		t.Error("the digests did not change")
	}
}

func TestAgentWithAnEndlessGracePeriod(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	const seconds = int64(1) << 40
	in.Agent.Spec.Workload.Template.Spec.TerminationGracePeriodSeconds = new(seconds)
	result, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if got := *result.Objects.Deployment.Spec.Template.Spec.TerminationGracePeriodSeconds; got != seconds {
		t.Errorf("terminationGracePeriodSeconds = %d, want the template's", got)
	}
	if !strings.Contains(result.Objects.ConfigMap.Data[sidecarconfig.FileName], `"gracePeriod": "24h0m0s"`) {
		t.Error("the configuration does not bound the grace period")
	}
}

func TestAgentWithoutAnIssuer(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	in.Issuer = nil
	result, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if result.Objects != nil || len(result.Problems) != 1 || result.Problems[0].Reason != a2av1alpha1.ReasonWaitingForIssuerKeys {
		t.Errorf("Agent() = %+v, want only the problem %s", result, a2av1alpha1.ReasonWaitingForIssuerKeys)
	}

	in.Agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationAnonymous}}
	if result, err = Agent(in, testPlatform); err != nil || result.Objects == nil {
		t.Errorf("Agent() = %+v, %v; an Anonymous agent needs no issuer", result, err)
	}
}

func TestAgentWithoutTokenKeys(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	in.TokenIssuer = nil
	result, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if result.Objects != nil || len(result.Problems) != 1 || result.Problems[0].Reason != a2av1alpha1.ReasonWaitingForTokenKeys {
		t.Errorf("Agent() = %+v, want only the problem %s", result, a2av1alpha1.ReasonWaitingForTokenKeys)
	}

	platform := testPlatform
	platform.IssuesTokens = false
	if result, err = Agent(in, platform); err != nil || result.Objects == nil {
		t.Errorf("Agent() = %+v, %v; a manager that issues no tokens needs no keys", result, err)
	}
}

func TestAgentWithATooLargeCard(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	for i := range 400 {
		in.Skills.Selected = append(in.Skills.Selected, &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("s", i+1)},
			Spec:       a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Description: strings.Repeat("d", 4096)}},
		})
	}
	result, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if result.Objects != nil || len(result.Problems) != 1 || result.Problems[0].Reason != a2av1alpha1.ReasonCardTooLarge {
		t.Errorf("Agent() problems = %+v, want %s", result.Problems, a2av1alpha1.ReasonCardTooLarge)
	}
}

func TestAgentWithoutARegistry(t *testing.T) {
	platform := testPlatform
	platform.RegistryURL = ""
	result, err := Agent(readCase(t, filepath.Join("testdata", "minimal", "input.yaml")), platform)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(result.Objects.ConfigMap.Data[sidecarconfig.FileName], "gateway") {
		t.Error("the configuration names a gateway")
	}
	for _, e := range result.Objects.Deployment.Spec.Template.Spec.Containers[0].Env {
		if *e.Name == a2av1alpha1.EnvGatewayURL {
			t.Error("the agent is given a gateway")
		}
	}
}

func TestRangesOfThePlatform(t *testing.T) {
	platform := testPlatform
	platform.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.8.0.0/24")}
	platform.RemoteAllow = []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fd00::/8")}
	result, err := Agent(readCase(t, filepath.Join("testdata", "minimal", "input.yaml")), platform)
	if err != nil {
		t.Fatal(err)
	}
	config, err := sidecarconfig.Decode([]byte(result.Objects.ConfigMap.Data[sidecarconfig.FileName]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.8.0.0/24"}, config.TrustedProxies); diff != "" {
		t.Errorf("trusted proxies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10.20.0.0/16", "fd00::/8"}, config.Gateway.RemoteAllow); diff != "" {
		t.Errorf("gateway.remoteAllow (-want +got):\n%s", diff)
	}
}

// A skill of another namespace that is not shared gives the same messages as a skill that does not exist.
func TestHiddenSkillsAreReportedAsMissing(t *testing.T) {
	library := types.NamespacedName{Namespace: "library", Name: "kept"}
	result := func(skill *a2av1alpha1.AgentSkill) Result {
		in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
		in.Agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: library.Namespace, Name: library.Name}}
		in.NamespaceLabels = map[string]string{"tier": "tin"}
		if skill != nil {
			skill.Namespace, skill.Name = library.Namespace, library.Name
			in.Skills.Referenced[library] = skill
		}
		got, err := Agent(in, testPlatform)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	absent := result(nil)
	if len(absent.Problems) != 1 || absent.Problems[0].Reason != a2av1alpha1.ReasonSkillNotFound {
		t.Fatalf("Agent() problems = %+v, want %s", absent.Problems, a2av1alpha1.ReasonSkillNotFound)
	}
	for name, allowed := range map[string]a2av1alpha1.AllowedNamespaces{
		"default": {},
		"same":    {From: a2av1alpha1.FromSame},
		"others":  {From: a2av1alpha1.FromSelector, Selector: &a2av1alpha1.NamespaceSelector{MatchLabels: map[string]a2av1alpha1.LabelValue{"tier": "gold"}}},
	} {
		kept := &a2av1alpha1.AgentSkill{Spec: a2av1alpha1.AgentSkillSpec{
			ID: "agent", AllowedAgents: a2av1alpha1.AllowedAgents{Namespaces: allowed},
			SkillDetails: a2av1alpha1.SkillDetails{Name: "Kept", Visibility: a2av1alpha1.SkillVisibilityExtended},
		}}
		if diff := cmp.Diff(absent, result(kept)); diff != "" {
			t.Errorf("%s: Agent() differs from what a missing skill gives:\n%s", name, diff)
		}
	}
}

// A remote Agent has only a ConfigMap with its card, after the operator has read the card.
func TestRemoteAgent(t *testing.T) {
	agent := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "far"},
		Spec:       a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://far.example"}},
	}
	far := &state.RemoteCard{Text: `{"name":"Far"}`, Digest: "digest", Skills: 2}
	for name, remote := range map[string]*state.Remote{"nothing known": nil, "no card": {Failure: &state.Problem{Message: "x"}}} {
		result, err := Agent(state.Agent{Agent: agent, Remote: remote}, testPlatform)
		if err != nil || result.Objects != nil || len(result.Problems) > 0 {
			t.Errorf("%s: Agent() = %+v, %v", name, result, err)
		}
	}
	result, err := Agent(state.Agent{Agent: agent, Remote: &state.Remote{Card: far, OmittedAddresses: 2, ReplacedAddress: "http://0.0.0.0:8000/"}}, testPlatform)
	if err != nil || result.Objects == nil {
		t.Fatalf("Agent() = %+v, %v", result, err)
	}
	if o := result.Objects; o.Deployment != nil || o.Service != nil || o.ServiceAccount != nil || o.NetworkPolicy != nil {
		t.Errorf("a remote Agent has more than a card: %+v", o)
	}
	if text := result.Objects.ConfigMap.Data[sidecarconfig.CardFileName]; !strings.Contains(text, `"name":"Far"`) || *result.Objects.ConfigMap.Name != names.ConfigMap("far") {
		t.Errorf("ConfigMap %+v", result.Objects.ConfigMap)
	}
	if c := result.Card; c.URL != "https://far.example" || c.Skills != 2 || c.CardDigest != "digest" || c.ConfigDigest != sidecarconfig.Digest([]byte(far.Text)) {
		t.Errorf("publication %+v", c)
	}
	if len(result.Remarks) != 2 || result.Remarks[0].Reason != a2av1alpha1.ReasonAddressesOmitted || !strings.Contains(result.Remarks[0].Message, "2 of the addresses") ||
		result.Remarks[1].Reason != a2av1alpha1.ReasonAddressesReplaced || !strings.Contains(result.Remarks[1].Message, "http://0.0.0.0:8000/") {
		t.Errorf("remarks %+v", result.Remarks)
	}
	result, err = Agent(state.Agent{Agent: agent, Remote: &state.Remote{Card: &state.RemoteCard{TooLarge: true}}}, testPlatform)
	if err != nil || result.Objects != nil || len(result.Problems) != 1 || result.Problems[0].Reason != a2av1alpha1.ReasonCardTooLarge {
		t.Errorf("a card that does not fit: %+v, %v", result, err)
	}
}

// readCase reads an Agent and AgentSkills in the form in which the operator observes them.
func readCase(t *testing.T, path string) state.Agent {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	in := state.Agent{
		Agent:  &a2av1alpha1.Agent{},
		Skills: state.Skills{Referenced: map[types.NamespacedName]*a2av1alpha1.AgentSkill{}},
		Issuer: testIssuer, TokenIssuer: testTokenIssuer, Exposure: everyHostname,
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(defaulted(t, documents[0]), in.Agent); err != nil {
		t.Fatal(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(in.Agent.Spec.SkillSelector)
	if err != nil {
		in.Skills.SelectorError = err.Error()
		selector = labels.Nothing()
	}
	for _, document := range documents[1:] {
		if readGateway(t, document, &in) {
			continue
		}
		skill := &a2av1alpha1.AgentSkill{}
		if err := yaml.UnmarshalStrict([]byte(document), skill); err != nil {
			t.Fatal(err)
		}
		if skill.Namespace == "" {
			skill.Namespace = in.Agent.Namespace
		}
		key := types.NamespacedName{Namespace: skill.Namespace, Name: skill.Name}
		if slices.ContainsFunc(in.Agent.Spec.SkillRefs, func(ref a2av1alpha1.AgentSkillRef) bool { return agentskill.Target(in.Agent, ref) == key }) {
			in.Skills.Referenced[key] = skill
		}
		if skill.Namespace == in.Agent.Namespace && selector.Matches(labels.Set(skill.Labels)) {
			in.Skills.Selected = append(in.Skills.Selected, skill)
		}
	}
	slices.SortFunc(in.Skills.Selected, func(a, b *a2av1alpha1.AgentSkill) int { return strings.Compare(a.Name, b.Name) })
	return in
}

// readGateway adds the objects of the Gateway API and marks the API as installed.
func readGateway(t *testing.T, document string, in *state.Agent) bool {
	t.Helper()
	decode := func(into any) {
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Fatal(err)
		}
	}
	owners := []metav1.OwnerReference{*metav1.NewControllerRef(in.Agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))}
	switch {
	case strings.HasPrefix(document, "kind: Gateway\n"):
		gateway := &gatewayv1.Gateway{}
		decode(gateway)
		in.GatewayAPI.HTTPRoutes, in.GatewayAPI.GRPCRoutes = true, true
		if in.GatewayAPI.Gateways == nil {
			in.GatewayAPI.Gateways = map[types.NamespacedName]*gatewayv1.Gateway{}
		}
		in.GatewayAPI.Gateways[types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name}] = gateway
		return true
	case strings.HasPrefix(document, "kind: HTTPRoute\n"):
		in.Children.HTTPRoute = &gatewayv1.HTTPRoute{}
		decode(in.Children.HTTPRoute)
		in.Children.HTTPRoute.OwnerReferences = owners
		return true
	case strings.HasPrefix(document, "kind: GRPCRoute\n"):
		in.Children.GRPCRoute = &gatewayv1.GRPCRoute{}
		decode(in.Children.GRPCRoute)
		in.Children.GRPCRoute.OwnerReferences = owners
		return true
	default:
		return false
	}
}

// defaulted adds the defaults of the CRD to an Agent, as the API server does.
func defaulted(t *testing.T, document string) map[string]any {
	t.Helper()
	schema, err := agentSchema()
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		t.Fatal(err)
	}
	defaulting.Default(object, schema)
	return object
}

// agentSchema returns the schema of Agents, which is read once: it is 474 KB of YAML.
var agentSchema = sync.OnceValues(func() (*structuralschema.Structural, error) {
	text, err := os.ReadFile("../../../config/crd/bases/a2a-operator.dev_agents.yaml")
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, err
	}
	return structuralschema.NewStructural(internal)
})

// render returns the YAML of a result.
func render(t *testing.T, result Result) []byte {
	t.Helper()
	var out bytes.Buffer
	write := func(values ...any) {
		for _, value := range values {
			text, err := yaml.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString("---\n")
			out.Write(text)
		}
	}
	if len(result.Exposure) > 0 {
		write(map[string]any{"exposure": result.Exposure})
	}
	write(map[string]any{"problems": result.Problems, "remarks": result.Remarks, "card": result.Card})
	if o := result.Objects; o != nil {
		write(o.ServiceAccount, o.ConfigMap)
		writeSkillFiles(o, write)
		write(o.Service, o.Deployment, o.NetworkPolicy)
		if o.Budget != nil {
			write(o.Budget)
		}
		if o.Autoscaler != nil {
			write(o.Autoscaler)
		}
		if o.HTTPRoute != nil {
			write(o.HTTPRoute)
		}
		if o.GRPCRoute != nil {
			write(o.GRPCRoute)
		}
	}
	return out.Bytes()
}

func writeSkillFiles(o *Objects, write func(...any)) {
	if o.SkillFiles != nil {
		write(o.SkillFiles)
	}
}

// The sidecar configuration contains the certificate authorities of the registry.
func TestAgentTrustsTheRegistry(t *testing.T) {
	in := readCase(t, "testdata/minimal/input.yaml")
	in.RegistryCA = &state.RegistryCA{PEM: "pem", Additional: true}
	config, err := sidecarConfiguration(in, Platform{RegistryURL: "https://registry.a2a.svc"}, card.Card{}, nil, nil)
	if err != nil || config.Gateway.RegistryCA != "pem" || !config.Gateway.RegistryCAAdditional {
		t.Errorf("gateway = %+v, %v", config.Gateway, err)
	}
}
