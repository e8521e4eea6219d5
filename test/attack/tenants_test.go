// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Times within which the operator must act for a tenant while another one is hostile.
const (
	deploymentWithin = 10 * time.Second
	editWithin       = 5 * time.Second
	reportWithin     = 10 * time.Second
	// endWithin is below the grace period of the manager's pod, 30 s.
	endWithin = 20 * time.Second
)

// agentYAML is an Agent with a field of a skill and further fields of its spec.
const agentYAML = `
apiVersion: a2a-operator.dev/v1alpha1
kind: Agent
metadata: {name: %q, namespace: %q}
spec:
  displayName: Echo
  description: %s
  version: "1"
  skills: [{id: s, name: S, description: d, tags: [t]%s}]
  workload: {template: {spec: {containers: [{name: agent, image: "example/echo:1"}]}}}
%s`

func newAgent(t *testing.T, name, namespace, description, skill, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, agentYAML, name, namespace, description, skill, spec), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// hostile is a tenant with edit in a namespace.
type hostile struct {
	*cluster
	namespace string

	// tokens are those of the pods of its Agents.
	tokens map[string]string

	mu      sync.Mutex
	created map[string]int
}

// newHostile creates a namespace for a hostile tenant.
func newHostile(t *testing.T, c *cluster) *hostile {
	t.Helper()
	own, namespace := c.tenant(t, "hostile-")
	return &hostile{cluster: own, namespace: namespace, created: map[string]int{}}
}

// everything sends large Agents, slow rules and fat annotations at once, n fat objects of each kind. It returns the numbers of objects that
// the API server has taken.
func (h *hostile) everything(ctx context.Context, t *testing.T, n int) string {
	t.Helper()
	var group sync.WaitGroup
	group.Go(func() { h.schemas(ctx, t) })
	group.Go(func() { h.rules(ctx, t) })
	group.Go(func() { h.approvers(ctx, t) })
	group.Go(func() { h.annotations(ctx, t, n) })
	group.Go(func() { h.mistakes(ctx, t, 20*n) })
	group.Wait()
	return strings.Trim(fmt.Sprint(h.created), "map[]")
}

// create creates objects, several at a time, and counts those that the API server takes. It stops with ctx.
func (h *hostile) create(ctx context.Context, t *testing.T, what string, n int, object func(i int) client.Object) {
	t.Helper()
	h.repeat(ctx, t, what, n, func(ctx context.Context, i int) error { return h.Create(ctx, object(i)) })
}

// repeat sends n requests, several at a time, and counts those that the API server takes. It stops with ctx.
func (h *hostile) repeat(ctx context.Context, t *testing.T, what string, n int, send func(ctx context.Context, i int) error) {
	t.Helper()
	var next, taken atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := next.Add(1); i <= int64(n) && ctx.Err() == nil; i = next.Add(1) {
				err := send(ctx, int(i))
				switch {
				case err == nil:
					taken.Add(1)
				case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), ctx.Err() != nil:
					if next.Load() < 6 {
						t.Logf("the API server refuses %s: %.300v", what, err)
					}
				default:
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	group.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.created[what] = int(taken.Load())
}

// schemas creates Agents whose JSON Schemas are expensive (S2): 28 KB nested 2,000 deep, and a multipleOf with a huge exponent.
func (h *hostile) schemas(ctx context.Context, t *testing.T) {
	t.Helper()
	const depth = 2000
	deep := strings.Repeat(`{"anyOf":[`, depth) + "true" + strings.Repeat("]}", depth)
	h.create(ctx, t, "Agents with deep schemas", 6, func(i int) client.Object {
		return newAgent(t, fmt.Sprintf("deep-%d", i), h.namespace, "d", `, inputSchema: `+deep, "")
	})
	h.create(ctx, t, "Agents with huge numbers in schemas", 6, func(i int) client.Object {
		return newAgent(t, fmt.Sprintf("huge-%d", i), h.namespace, "d", fmt.Sprintf(`, inputSchema: {multipleOf: 1e%d}`, 308*(1-i%2*2)-i/2), "")
	})
}

// rules creates Agents whose CEL rules are expensive (S5).
func (h *hostile) rules(ctx context.Context, t *testing.T) {
	t.Helper()
	const rules, longest = 32, 1024
	h.create(ctx, t, "Agents with CEL bombs", 6, func(i int) client.Object {
		var all []string
		for rule := range rules {
			end := fmt.Sprintf(" == type(%d)", 100*i+rule)
			depth := (longest - len(end) - 1) / len("type({1:})")
			all = append(all, fmt.Sprintf("{name: r%d, action: Allow, expression: %q}", rule, strings.Repeat("type({1:", depth)+"1"+strings.Repeat("})", depth)+end))
		}
		return newAgent(t, fmt.Sprintf("rules-%d", i), h.namespace, "d", "", "  access: {authorization: ["+strings.Join(all, ", ")+"]}\n")
	})
}

// approvers creates agents without code whose rules of approvers are expensive.
func (h *hostile) approvers(ctx context.Context, t *testing.T) {
	t.Helper()
	const rules, longest = 16, 1024
	macro := "[1].exists(a, "
	h.create(ctx, t, "Agents with bombs for approvers", 6, func(i int) client.Object {
		var all []any
		for rule := range rules {
			end := fmt.Sprintf(" == '%d'", 100*i+rule)
			text := strings.Repeat(macro, 60) + "caller.principal" + end + strings.Repeat(")", 60)
			if rule%2 == 0 {
				text = fmt.Sprintf(`caller.principal.matches('(?i)([\x{41}-\x{1e942}]{1000}){1000}%d')`, rule)
			}
			all = append(all, text[:min(len(text), longest)])
		}
		agent := newAgent(t, fmt.Sprintf("approvers-%d", i), h.namespace, "d", "", "")
		unstructured.RemoveNestedField(agent.Object, "spec", "workload")
		if err := unstructured.SetNestedMap(agent.Object, map[string]any{
			"url": "http://vllm.models:8000/v1", "approval": map[string]any{"approvers": all},
		}, "spec", "model"); err != nil {
			t.Error(err)
		}
		return agent
	})
}

// mistake is a merge patch of an Agent with a mistake, which the operator reports in an event.
const mistake = `{"spec":{"skillRefs":null,"access":{"authorization":[{"name":"r","action":"Allow","expression":"%s"}]}}}`

// mistakes makes n edits of Agents, which cause an event each.
func (h *hostile) mistakes(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	const agents = 8
	unknown := strings.Repeat("u", 1000)
	h.create(ctx, t, "Agents with mistakes", agents, func(i int) client.Object {
		return newAgent(t, fmt.Sprintf("mistaken-%d", i), h.namespace, "d", "", "")
	})
	h.repeat(ctx, t, "edits with mistakes", n, func(ctx context.Context, i int) error {
		patch := fmt.Sprintf(mistake, unknown)
		if i/agents%2 == 0 {
			patch = `{"spec":{"access":null,"skillRefs":[{"name":"missing"}]}}`
		}
		agent := newAgent(t, fmt.Sprintf("mistaken-%d", 1+i%agents), h.namespace, "", "", "")
		return h.Patch(ctx, agent, client.RawPatch("application/merge-patch+json", []byte(patch)))
	})
}

// exposes creates Agents that ask for routes at a hostname of another team, through a Gateway that every namespace may use (S6). The
// installer has allowed no hostname.
func (h *hostile) exposes(t *testing.T, c *cluster) {
	t.Helper()
	gateway := &unstructured.Unstructured{}
	text := `{"spec":{"gatewayClassName":"c","listeners":[{"name":"http","port":80,"protocol":"HTTP","allowedRoutes":{"namespaces":{"from":"All"}}}]}}`
	if err := json.Unmarshal([]byte(text), &gateway.Object); err != nil {
		t.Fatal(err)
	}
	gateway.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"})
	gateway.SetName("shared")
	gateway.SetNamespace(home)
	if err := c.Create(t.Context(), gateway); err != nil {
		t.Fatal(err)
	}
	h.create(t.Context(), t, "Agents at foreign hosts", 2, func(i int) client.Object {
		spec := fmt.Sprintf("  exposure: {parentRefs: [{name: shared, namespace: %s}], path: /login", home) + []string{"", ", hostnames: [login.example.com]"}[i%2] + "}\n"
		return newAgent(t, fmt.Sprintf("exposed-%d", i), h.namespace, "d", "", spec)
	})
}

// routes returns the number of routes that the operator has created for the tenant: fat routes are its own.
func (h *hostile) routes(t *testing.T) int {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRouteList"})
	if err := h.List(t.Context(), list, client.InNamespace(h.namespace)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, route := range list.Items {
		if !strings.HasPrefix(route.GetName(), "fat-") {
			n++
		}
	}
	return n
}

// tenant is the other tenant: it creates an Agent and edits it, and expects that the operator acts in time.
type tenant struct {
	*cluster
	namespace string
	made      int
	deployed  []time.Duration
	edited    []time.Duration
	reported  []time.Duration
	// answered are the times of the API server alone: of the requests that create an Agent.
	answered []time.Duration
}

// newTenant creates a namespace for a tenant.
func newTenant(t *testing.T, c *cluster) *tenant {
	t.Helper()
	own, namespace := c.tenant(t, "good-")
	return &tenant{cluster: own, namespace: namespace}
}

// await returns how long a condition took, at most a minute.
func await(ctx context.Context, is func() bool) time.Duration {
	began := time.Now()
	for !is() && time.Since(began) < time.Minute && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(began)
}

// works creates an Agent, waits for its Deployment, edits it, waits for the edit in the ConfigMap, makes a mistake, and waits for the
// event.
func (w *tenant) works(ctx context.Context, t *testing.T) {
	t.Helper()
	w.made++
	name := fmt.Sprintf("good-%d", w.made)
	agent := newAgent(t, name, w.namespace, "first", "", "")
	began := time.Now()
	if err := w.Create(ctx, agent); err != nil {
		t.Error(err)
		return
	}
	w.answered = append(w.answered, time.Since(began))
	key := client.ObjectKeyFromObject(agent)
	w.deployed = append(w.deployed, await(ctx, func() bool { return w.Get(ctx, key, &appsv1.Deployment{}) == nil }))
	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"description":"edited text"}}`))
	if err := w.Patch(ctx, agent, edit); err != nil {
		t.Error(err)
		return
	}
	w.edited = append(w.edited, await(ctx, func() bool {
		list := &corev1.ConfigMapList{}
		if w.List(ctx, list, client.InNamespace(w.namespace)) != nil {
			return false
		}
		for _, each := range list.Items {
			for _, text := range each.Data {
				if metav1.IsControlledBy(&each, agent) && strings.Contains(text, "edited text") {
					return true
				}
			}
		}
		return false
	}))
	if err := w.Patch(ctx, agent, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, mistake, "unknown"))); err != nil {
		t.Error(err)
		return
	}
	w.reported = append(w.reported, await(ctx, func() bool {
		list := &corev1.EventList{}
		if w.List(ctx, list, client.InNamespace(w.namespace)) != nil {
			return false
		}
		return slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == name && e.Reason == a2av1alpha1.ReasonInvalidAuthorization
		})
	}))
}

// forget forgets the times so far.
func (w *tenant) forget() {
	w.deployed = nil
	w.edited = nil
	w.reported = nil
	w.answered = nil
}

// worksDuring works until an attack is over or ctx ends, at least three times.
func (w *tenant) worksDuring(ctx context.Context, t *testing.T, attack func(ctx context.Context)) {
	t.Helper()
	ctx, done := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		attack(ctx)
	}()
	for rounds := 0; (rounds < 3 || !isClosed(over)) && ctx.Err() == nil; rounds++ {
		w.works(context.WithoutCancel(ctx), t)
	}
	done()
	<-over
}

// inTime reports the times of the tenant that are too long.
func (w *tenant) inTime(t *testing.T, when string) {
	t.Helper()
	for _, took := range w.deployed {
		if took > deploymentWithin {
			t.Errorf("%s: the Deployment of another tenant's Agent took %v, want %v", when, took.Round(time.Millisecond), deploymentWithin)
		}
	}
	for _, took := range w.edited {
		if took > editWithin {
			t.Errorf("%s: an edit of another tenant took %v, want %v", when, took.Round(time.Millisecond), editWithin)
		}
	}
	for _, took := range w.reported {
		if took > reportWithin {
			t.Errorf("%s: the event of another tenant's mistake took %v, want %v", when, took.Round(time.Millisecond), reportWithin)
		}
	}
}

func (w *tenant) String() string {
	return fmt.Sprintf("%d Deployments after at most %s, edits after at most %s, events after at most %s; the API server answers after at most %s",
		len(w.deployed), longest(w.deployed), longest(w.edited), longest(w.reported), longest(w.answered))
}

func longest(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Max(all).Round(10 * time.Millisecond)
}

// TestTenants lets a hostile tenant send large Agents, slow rules, fat annotations and routes at once. The manager must serve another tenant in
// time, must not be killed, must obey SIGTERM, and must start again with all these objects.
func TestTenants(t *testing.T) {
	c := startCluster(t)
	number := 4
	restarts := 1
	atMost := time.Minute
	if full {
		number = 300
		restarts = 3
		atMost = 20 * time.Minute
	}
	manager := startManager(t, c, c.kubeconfig)
	bad := newHostile(t, c)
	good := newTenant(t, c)
	bad.exposes(t, c)
	good.works(t.Context(), t)
	t.Logf("without an attack: %s", good)
	good.forget()
	manager.withstands(t, "hostile tenant", atMost, func(ctx context.Context) string {
		var objects string
		good.worksDuring(ctx, t, func(ctx context.Context) { objects = bad.everything(ctx, t, number) })
		return objects
	})
	t.Logf("during the attack: %s", good)
	good.inTime(t, "during the attack")
	if n := bad.routes(t); n > 0 {
		t.Errorf("a tenant got %d routes at hosts that the installer did not allow", n)
	}
	if manager.Failure() == "" {
		t.Logf("SIGTERM obeyed after %v", manager.Terminate(t, endWithin).Round(time.Millisecond))
	}

	// A manager that starts with these objects must live, too.
	for range restarts {
		again := startManager(t, c, c.kubeconfig)
		good.forget()
		again.withstands(t, "restart with the objects of a hostile tenant", lasts, func(ctx context.Context) string {
			good.works(context.WithoutCancel(ctx), t)
			return good.String()
		})
		good.inTime(t, "after a restart")
		if again.Failure() == "" {
			again.Terminate(t, endWithin)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
