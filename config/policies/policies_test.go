// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies tests the samples of policies with an API server.
package policies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	a2av1alpha1ac "github.com/a2a-operator/a2a-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

const (
	// enforced and free are namespaces with and without the label of the policies.
	enforced = "enforced"
	free     = "free"
	// policyTimeout is how long the API server may take to use a new policy or parameter.
	policyTimeout = time.Minute
)

// cluster is an API server with the CRDs.
type cluster struct {
	client.Client
	config *rest.Config
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	environment := controlplane.New()
	config, err := environment.Start()
	t.Cleanup(func() { _ = environment.Stop() })
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, a2av1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string]map[string]string{
		"a2a-system": nil, free: nil, enforced: {"a2a-operator.dev/policies": "enforce"},
	} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
			t.Fatal(err)
		}
	}
	return &cluster{Client: c, config: config}
}

// objects returns the objects of the samples.
func objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, file := range kustomization.Resources {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, object)
		}
	}
	if len(all) != 13 {
		t.Fatalf("the samples have %d objects", len(all))
	}
	return all
}

// applyPolicies creates the objects of the samples, and waits until each policy denies its violation.
func (c *cluster) applyPolicies(t *testing.T) {
	t.Helper()
	for _, object := range objects(t) {
		if err := c.Create(t.Context(), object.DeepCopy(), client.FieldValidation("Strict")); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	for policy, violate := range violations {
		c.await(t, policy, func() error {
			return c.Create(t.Context(), agentWith(enforced, "probe", violate.change), client.DryRunAll)
		}, true)
	}
}

// await repeats a request until the API server denies it or, if denied is false, admits it.
func (c *cluster) await(t *testing.T, what string, request func() error, denied bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), policyTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond) // the API server sends no event when a policy or parameter takes effect
	defer tick.Stop()
	for {
		err := request()
		if (err != nil) == denied {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: the last answer was: %v", what, err)
		case <-tick.C:
		}
	}
}

// agentWith returns an Agent with changes. No policy denies the Agent without the changes.
func agentWith(namespace, name string, changes ...func(*a2av1alpha1.Agent)) *a2av1alpha1.Agent {
	agent := &a2av1alpha1.Agent{
		TypeMeta:   metav1.TypeMeta{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "Agent"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       a2av1alpha1.AgentSpec{Description: "Answers.", Workload: &a2av1alpha1.AgentWorkload{}},
	}
	agent.Spec.Workload.Template.Spec.Containers = []corev1.Container{limited("agent", "ghcr.io/a2a-operator/sample-echo:v0.1.0")}
	for _, change := range changes {
		change(agent)
	}
	return agent
}

// limited returns a container with a limit of memory.
func limited(name, image string) corev1.Container {
	c := corev1.Container{Name: name, Image: image}
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}
	return c
}

func pod(a *a2av1alpha1.Agent) *corev1.PodSpec { return &a.Spec.Workload.Template.Spec }

func withImage(image string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) { pod(a).Containers[0].Image = image }
}

func withInitContainer(c corev1.Container) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) { pod(a).InitContainers = append(pod(a).InitContainers, c) }
}

func withImageVolume(reference string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		pod(a).Volumes = []corev1.Volume{{Name: "model", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: reference}}}}
	}
}

func anonymous(a *a2av1alpha1.Agent) {
	a.Spec.Access.Authentication = []a2av1alpha1.Authentication{
		{Type: a2av1alpha1.AuthenticationKubernetes}, {Type: a2av1alpha1.AuthenticationAnonymous},
	}
}

func public(a *a2av1alpha1.Agent) { a.Spec.Discovery.Visibility = a2av1alpha1.VisibilityPublic }

func withoutLimits(a *a2av1alpha1.Agent) {
	pod(a).Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
}

func withPodLimits(a *a2av1alpha1.Agent) {
	withoutLimits(a)
	pod(a).Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
}

func withSidecarLimit(memory string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		a.Spec.Workload.Sidecar.Resources = &a2av1alpha1.SidecarResources{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}}
	}
}

func remoteAt(url string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		a.Spec.Workload, a.Spec.Remote = nil, &a2av1alpha1.AgentRemote{URL: url}
	}
}

func modelAt(url string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		a.Spec.Workload = nil
		a.Spec.Model = &a2av1alpha1.AgentModel{URL: url, Name: "m"}
	}
}

func fallbackAt(url string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		modelAt("https://agents.example.com/v1")(a)
		a.Spec.Model.Fallbacks = []a2av1alpha1.ModelFallback{{URL: url}}
	}
}

func toolsAt(url string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		modelAt("https://agents.example.com/v1")(a)
		a.Spec.Model.Tools = []a2av1alpha1.ModelTool{{Agent: &a2av1alpha1.AgentTool{Name: "other"}}, {MCP: &a2av1alpha1.MCPTool{URL: url}}}
	}
}

// violation is a change after which a policy denies an Agent, and the texts that the message must contain: the field,
// the wrong value and the cure.
type violation struct {
	change func(*a2av1alpha1.Agent)
	parts  []string
}

// violations has a violation for each policy, by the name of the policy.
var violations = map[string]violation{
	"a2a-agent-image-registries": {withImage("docker.example/evil:1"), []string{"spec.workload.template.spec", "docker.example/evil:1", "use images of ghcr.io/a2a-operator/, registry.example.com/agents/"}},
	"a2a-agent-no-anonymous":     {anonymous, []string{"spec.access.authentication", "remove the type Anonymous"}},
	"a2a-agent-resource-limits":  {withoutLimits, []string{"spec.workload.template.spec", "without limits: agent", "set resources.limits of each to values for memory"}},
	"a2a-agent-visibility":       {public, []string{"spec.discovery.visibility is Public", "use Cluster"}},
	"a2a-agent-hosts":            {remoteAt("https://far.example.net"), []string{"spec.remote.url is https://far.example.net", "use an agent at one of these hosts: agents.example.com, *.svc.cluster.local"}},
}

// TestPoliciesCheckEveryWrite writes valid and invalid Agents by create, update and server-side apply: the policies
// must deny exactly the invalid ones.
func TestPoliciesCheckEveryWrite(t *testing.T) {
	c := startCluster(t)
	c.applyPolicies(t)
	c.testDecisions(t)
	c.testWrites(t)
	c.testExposure(t)
	c.testParameters(t)
}

// testDecisions creates Agents by dry runs, in a namespace with the label of the policies and in one without it.
func (c *cluster) testDecisions(t *testing.T) {
	t.Helper()
	const denied, admitted = true, false
	for name, test := range map[string]struct {
		change func(*a2av1alpha1.Agent)
		denied bool
	}{
		"another repository of the registry":        {withImage("registry.example.com/other/agent:1"), denied},
		"a repository whose name begins alike":      {withImage("registry.example.com/agents-evil/agent:1"), denied},
		"a registry whose name begins alike":        {withImage("ghcr.io.evil.example/a2a-operator/agent:1"), denied},
		"a name without a registry":                 {withImage("nginx"), denied},
		"a name that reads as a folder of the list": {withImage("ghcr.io/nginx"), denied},
		"no image":                           {withImage(""), admitted},
		"an image by digest":                 {withImage("registry.example.com/agents/team/agent@sha256:" + strings.Repeat("a", 64)), admitted},
		"an init container":                  {withInitContainer(limited("init", "docker.example/evil:1")), denied},
		"an image volume":                    {withImageVolume("docker.example/model:1"), denied},
		"an allowed image volume":            {withImageVolume("registry.example.com/agents/model:1"), admitted},
		"limits of the pod":                  {withPodLimits, admitted},
		"an init container without limits":   {withInitContainer(corev1.Container{Name: "init", Image: "ghcr.io/a2a-operator/init"}), denied},
		"a sidecar without a limit":          {withSidecarLimit("0"), denied},
		"a sidecar with another limit":       {withSidecarLimit("64Mi"), admitted},
		"an allowed remote agent":            {remoteAt("https://Agents.Example.com:8443/far"), admitted},
		"a remote agent with a similar name": {remoteAt("https://agents.example.com.evil.example"), denied},
		"a remote agent below an exact name": {remoteAt("https://x.agents.example.com"), denied},
		"an allowed model server":            {modelAt("http://vllm.models.svc.cluster.local:8000/v1"), admitted},
		"a model server elsewhere":           {modelAt("https://models.example.net/v1"), denied},
		"a fallback at an allowed server":    {fallbackAt("http://vllm.models.svc.cluster.local:8000/v1"), admitted},
		"a fallback elsewhere":               {fallbackAt("https://models.example.net/v1"), denied},
		"tools of an allowed server":         {toolsAt("http://mcp.tools.svc.cluster.local/mcp"), admitted},
		"tools of a server elsewhere":        {toolsAt("https://mcp.example.net/mcp"), denied},
		"a model server with a similar name": {modelAt("https://evilsvc.cluster.local/v1"), denied},
		"a workload that violates no policy": {func(*a2av1alpha1.Agent) {}, admitted},
	} {
		err := c.Create(t.Context(), agentWith(enforced, "decided", test.change), client.DryRunAll)
		if (err != nil) != test.denied {
			t.Errorf("%s: %v, want denied: %t", name, err, test.denied)
		}
		if err := c.Create(t.Context(), agentWith(free, "decided", test.change), client.DryRunAll); err != nil {
			t.Errorf("%s, in a namespace without the label: %v", name, err)
		}
	}
}

// testWrites violates each policy by each kind of write.
func (c *cluster) testWrites(t *testing.T) {
	t.Helper()
	for policy, v := range violations {
		agent := agentWith(enforced, strings.TrimPrefix(policy, "a2a-agent-"))
		if policy == "a2a-agent-hosts" {
			remoteAt("https://agents.example.com")(agent) // an Agent with a workload cannot become a remote one
		}
		valid := agent.DeepCopy()
		// The user owns the fields, so that a later apply can remove a limit.
		if err := c.Apply(t.Context(), applyConfiguration(t, agent), client.FieldOwner("user")); err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		updated := &a2av1alpha1.Agent{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(agent), updated); err != nil {
			t.Fatal(err)
		}
		v.change(updated)
		applied := valid.DeepCopy()
		v.change(applied)
		for write, err := range map[string]error{
			"create":            c.Create(t.Context(), agentWith(enforced, "created-by-"+agent.Name, v.change)),
			"update":            c.Update(t.Context(), updated),
			"server-side apply": c.Apply(t.Context(), applyConfiguration(t, applied), client.FieldOwner("user"), client.ForceOwnership),
		} {
			if err == nil {
				t.Errorf("%s admits a violation by %s", policy, write)
				continue
			}
			for _, part := range append(v.parts, "ValidatingAdmissionPolicy '"+policy+"'") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s by %s: the message lacks %q: %v", policy, write, part, err)
				}
			}
		}
		if err := c.Apply(t.Context(), applyConfiguration(t, valid), client.FieldOwner("user"), client.ForceOwnership); err != nil {
			t.Errorf("%s denies a server-side apply without a violation: %v", policy, err)
		}
	}
}

// testExposure writes exposures as a user who may edit Agents, first without the right to create routes.
func (c *cluster) testExposure(t *testing.T) {
	t.Helper()
	grant := func(name string, rules ...rbacv1.PolicyRule) {
		t.Helper()
		meta := metav1.ObjectMeta{Namespace: enforced, Name: name}
		if err := errors.Join(
			c.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}),
			c.Create(t.Context(), &rbacv1.RoleBinding{
				ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "tenant"}}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name},
			}),
		); err != nil {
			t.Fatal(err)
		}
	}
	grant("agents", rbacv1.PolicyRule{APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{"agents"}, Verbs: []string{"*"}})
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = "tenant"
	tenant, err := client.New(config, client.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	exposed := func(grpc ...a2av1alpha1.Hostname) func(*a2av1alpha1.Agent) {
		return func(a *a2av1alpha1.Agent) {
			a.Spec.Exposure = &a2av1alpha1.AgentExposure{
				ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}, Hostnames: []a2av1alpha1.Hostname{"a.example"}, GRPCHostnames: grpc,
			}
		}
	}
	create := func(change func(*a2av1alpha1.Agent)) func() error {
		return func() error {
			return tenant.Create(t.Context(), agentWith(enforced, "asked", change), client.DryRunAll)
		}
	}
	c.await(t, "an Agent of the tenant", create(func(*a2av1alpha1.Agent) {}), false)
	c.await(t, "an exposure without the right", create(exposed()), true)
	if err := create(exposed())(); err == nil || !strings.Contains(err.Error(), "which user tenant does not have: remove spec.exposure") {
		t.Errorf("the denial does not name the cure: %v", err)
	}

	agent := agentWith(enforced, "exposed", exposed()) // an administrator exposes an Agent of the tenant
	if err := c.Create(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	agent.Spec.Description = "Answers at length."
	if err := tenant.Update(t.Context(), agent); err != nil {
		t.Errorf("an update that keeps the exposure: %v", err)
	}
	agent.Spec.Exposure.Hostnames[0] = "b.example"
	if err := tenant.Update(t.Context(), agent.DeepCopy()); err == nil {
		t.Error("an update of the exposure is admitted")
	}
	agent.Spec.Exposure = nil
	if err := tenant.Update(t.Context(), agent); err != nil {
		t.Errorf("an update without the exposure: %v", err)
	}

	routes := rbacv1.PolicyRule{APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"httproutes"}, Verbs: []string{"create"}}
	grant("httproutes", routes)
	c.await(t, "an exposure with the right", create(exposed()), false)
	if err := create(exposed("grpc.example"))(); err == nil || !strings.Contains(err.Error(), "grpcroutes") {
		t.Errorf("gRPC without the right: %v", err)
	}
	routes.Resources = []string{"grpcroutes"}
	grant("grpcroutes", routes)
	c.await(t, "gRPC with the right", create(exposed("grpc.example")), false)
}

// testParameters edits the parameters, and then deletes them.
func (c *cluster) testParameters(t *testing.T) {
	t.Helper()
	parameters := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a2a-system", Name: "a2a-agent-policies"}}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(parameters), parameters); err != nil {
		t.Fatal(err)
	}
	create := func(change func(*a2av1alpha1.Agent)) func() error {
		return func() error { return c.Create(t.Context(), agentWith(enforced, "later", change), client.DryRunAll) }
	}
	parameters.Data["registries"] = "docker.io/library\n  registry.example.com/agents/  \n\nghcr.io/a2a-operator\n"
	if err := c.Update(t.Context(), parameters); err != nil {
		t.Fatal(err)
	}
	c.await(t, "a registry that was added", create(withImage("nginx:1")), false)
	if err := create(withImage("team/nginx:1"))(); err == nil {
		t.Error("docker.io/library admits an image of another repository")
	}
	if err := create(withImage("Docker.io/library/nginx:1"))(); err == nil {
		t.Error("docker.io/library admits an image of a registry in capitals, which a runtime may read as another one")
	}
	delete(parameters.Data, "registries")
	if err := c.Update(t.Context(), parameters); err != nil {
		t.Fatal(err)
	}
	c.await(t, "parameters without registries", create(withImage("nginx:1")), true)
	if err := c.Delete(t.Context(), parameters); err != nil {
		t.Fatal(err)
	}
	c.await(t, "no parameters", create(func(*a2av1alpha1.Agent) {}), true)
}

// TestPoliciesLeaveExistingAgents: an Agent that violated the policies before they existed keeps its violations
// through other edits, the operator's status writes, autoscaling and deletion. The policies deny new violations of
// this Agent.
func TestPoliciesLeaveExistingAgents(t *testing.T) {
	c := startCluster(t)
	workload := agentWith(enforced, "workload", violations["a2a-agent-image-registries"].change, anonymous, withoutLimits, public)
	remote := agentWith(enforced, "remote", violations["a2a-agent-hosts"].change)
	for _, agent := range []*a2av1alpha1.Agent{workload, remote} {
		if err := c.Create(t.Context(), agent); err != nil {
			t.Fatal(err)
		}
	}
	c.applyPolicies(t)
	edit := func(agent *a2av1alpha1.Agent, change func(*a2av1alpha1.Agent)) error {
		changed := agent.DeepCopy()
		change(changed)
		return c.Update(t.Context(), changed, client.DryRunAll)
	}
	for _, agent := range []*a2av1alpha1.Agent{workload, remote} {
		for what, err := range map[string]error{
			"a label":      edit(agent, func(a *a2av1alpha1.Agent) { a.Labels = map[string]string{"team": "a"} }),
			"a finalizer":  edit(agent, func(a *a2av1alpha1.Agent) { a.Finalizers = []string{"example.com/wait"} }),
			"spec.suspend": edit(agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true }),
			"the status":   c.applyStatus(t, agent),
		} {
			if err != nil {
				t.Errorf("Agent %s: the policies deny an edit of %s: %v", agent.Name, what, err)
			}
		}
	}
	for what, test := range map[string]struct {
		change func(*a2av1alpha1.Agent)
		denied bool
	}{
		"a container that violates nothing": {func(a *a2av1alpha1.Agent) {
			pod(a).Containers = append(pod(a).Containers, limited("more", "ghcr.io/a2a-operator/more"))
		}, false},
		"an allowed image":                  {withImage("ghcr.io/a2a-operator/sample-echo:v0.1.0"), false},
		"another image that is not allowed": {withImage("docker.example/evil:2"), true},
		"a container without limits": {func(a *a2av1alpha1.Agent) {
			pod(a).Containers = append(pod(a).Containers, corev1.Container{Name: "more", Image: "ghcr.io/a2a-operator/more"})
		}, true},
		"fewer ways to authenticate": {func(a *a2av1alpha1.Agent) { a.Spec.Access.Authentication = a.Spec.Access.Authentication[1:] }, false},
	} {
		if err := edit(workload, test.change); (err != nil) != test.denied {
			t.Errorf("%s: %v, want denied: %t", what, err, test.denied)
		}
	}
	if err := edit(remote, remoteAt("https://further.example.net")); err == nil {
		t.Error("the policies admit another host that is not allowed")
	}
	if err := c.SubResource("scale").Patch(t.Context(), workload.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`)),
		client.DryRunAll); err != nil {
		t.Errorf("the policies deny the writes of an autoscaler: %v", err)
	}
	for _, agent := range []*a2av1alpha1.Agent{workload, remote} {
		if err := c.Delete(t.Context(), agent, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Errorf("the policies deny the deletion of Agent %s: %v", agent.Name, err)
		}
	}
}

// applyStatus writes a status as the operator does.
func (c *cluster) applyStatus(t *testing.T, agent *a2av1alpha1.Agent) error {
	t.Helper()
	status := a2av1alpha1ac.Agent(agent.Name, agent.Namespace).WithUID(agent.UID).
		WithStatus(a2av1alpha1ac.AgentStatus().WithReplicas(1).WithObservedGeneration(agent.Generation))
	if err := c.Status().Apply(t.Context(), status, client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply the status: %w", err)
	}
	// The next edit of agent needs the new resource version.
	return client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(agent), agent))
}

// applyConfiguration returns an Agent for a server-side apply.
func applyConfiguration(t *testing.T, agent *a2av1alpha1.Agent) runtime.ApplyConfiguration {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(agent)
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fields, "metadata", "managedFields")
	unstructured.RemoveNestedField(fields, "status")
	return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: fields})
}
