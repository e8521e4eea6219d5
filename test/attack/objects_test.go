// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// fat are annotations of 250 KB.
var fat = map[string]string{"a": strings.Repeat("x", 250_000)}

// fatFinalizer keeps a fat object after its deletion.
const fatFinalizer = "example.com/hold"

// fatKinds are the kinds whose objects the manager watches, and a spec that the API server takes.
var fatKinds = map[string]string{
	"v1/ServiceAccount":                        `{}`,
	"v1/Service":                               `{"spec":{"clusterIP":"None"}}`,
	"v1/ConfigMap":                             `{"data":{"config.json":"{}"}}`,
	"apps/v1/Deployment":                       `{"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}`,
	"networking.k8s.io/v1/NetworkPolicy":       `{"spec":{"podSelector":{}}}`,
	"policy/v1/PodDisruptionBudget":            `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`,
	"autoscaling/v2/HorizontalPodAutoscaler":   `{"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}}}`,
	"a2a-operator.dev/v1alpha1/AgentSkill":     `{"spec":{"id":"s","name":"S","description":"d","tags":["t"]}}`,
	"v1/Pod":                                   `{"spec":{"containers":[{"name":"a","image":"b"}]}}`,
	"gateway.networking.k8s.io/v1/HTTPRoute":   `{"spec":{}}`,
	"rbac.authorization.k8s.io/v1/RoleBinding": `{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}`,
}

// agentKind is the kind of Agents, whose fat objects make the operator work, too.
var agentKind = a2av1alpha1.GroupVersion.String() + "/" + a2av1alpha1.AgentKind

// fatAgent is the spec of an Agent with fat annotations.
const fatAgent = `{"spec":{"description":"d","skills":[{"id":"s","name":"S","description":"d","tags":["t"]}],
"workload":{"template":{"spec":{"containers":[{"name":"a","image":"b"}]}}}}}`

// fatObject returns object i of a kind. It has the name, the labels and the owner of an object of an Agent that need not exist, fat
// annotations and a finalizer.
func (h *hostile) fatObject(t *testing.T, kind string, i int) *unstructured.Unstructured {
	t.Helper()
	text, ok := fatKinds[kind]
	if !ok {
		text = fatAgent
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Error(err)
	}
	cut := strings.LastIndex(kind, "/")
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(kind[:cut], kind[cut+1:]))
	agent := fmt.Sprintf("fat-%d", i)
	o.SetName(agent)
	if o.GetKind() == "ConfigMap" {
		o.SetName(names.ConfigMap(agent))
	}
	o.SetNamespace(h.namespace)
	o.SetAnnotations(fat)
	o.SetFinalizers([]string{fatFinalizer})
	o.SetLabels(names.Labels(agent))
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: a2av1alpha1.GroupVersion.String(), Kind: a2av1alpha1.AgentKind, Name: agent, UID: "00000000-0000-0000-0000-000000000001", Controller: &yes,
	}})
	return o
}

// fatten applies n fat objects of a kind. The tenant calls itself the operator. change changes each object; it may be nil.
func (h *hostile) fatten(ctx context.Context, t *testing.T, kind string, n int, change func(o *unstructured.Unstructured)) {
	t.Helper()
	h.repeat(ctx, t, "fat "+kind[strings.LastIndex(kind, "/")+1:]+"s", n, func(ctx context.Context, i int) error {
		o := h.fatObject(t, kind, i)
		if change != nil {
			change(o)
		}
		return h.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership)
	})
}

// deleteFat deletes n fat objects of a kind, which stay because of their finalizer.
func (h *hostile) deleteFat(ctx context.Context, t *testing.T, kind string, n int) {
	t.Helper()
	h.repeat(ctx, t, "deleted "+kind[strings.LastIndex(kind, "/")+1:]+"s", n, func(ctx context.Context, i int) error {
		return client.IgnoreNotFound(h.Delete(ctx, h.fatObject(t, kind, i)))
	})
}

// annotations creates n objects of each watched kind with fat annotations, named like Agents that need not exist (S4), and deletes a
// half of them.
func (h *hostile) annotations(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for kind := range fatKinds {
		h.fatten(ctx, t, kind, n, nil)
		h.deleteFat(ctx, t, kind, n/2)
	}
}

// crowdOfObjects are the objects of a kind that a tenant creates.
type crowdOfObjects struct {
	name, kind string
	number     int
	// each is the memory that an object and its Agent cost the manager at most, in bytes.
	each   int64
	change func(o *unstructured.Unstructured)
}

// TestFatObjects sends 2,000 fat objects of each kind, one kind after the other, deletes them, and restarts the manager while they are
// there and while they are being deleted. It sends as many ConfigMaps of the largest size as the page on tenancy allows, too. The short
// form is a part of TestTenants.
func TestFatObjects(t *testing.T) {
	if !full {
		t.Skip("minutes for each kind: ATTACK=full")
	}
	const number, lean, atMost = 2000, 32 << 10, 10 * time.Minute
	var all []crowdOfObjects
	for _, kind := range append(slices.Sorted(maps.Keys(fatKinds)), agentKind) {
		all = append(all, crowdOfObjects{name: kind[strings.LastIndex(kind, "/")+1:], kind: kind, number: number, each: lean})
	}
	all = append(all, crowdOfObjects{name: "largest ConfigMap", kind: "v1/ConfigMap", number: 1400, each: 264 << 10, change: func(o *unstructured.Unstructured) {
		o.SetAnnotations(nil)
		o.Object["data"] = map[string]any{sidecarconfig.FileName: o.GetName() + fat["a"]} // equal texts are stored once
	}})
	for _, each := range all {
		t.Run(each.name, func(t *testing.T) {
			// The watch caches of one API server would need all the memory of the machine.
			c, err := newCluster()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.environment.Stop() })
			bad := newHostile(t, c)
			good := newTenant(t, c)
			// attacked starts a manager, and lets the good tenant work while something happens.
			attacked := func(what string, happens func(ctx context.Context)) {
				manager := startManager(t, c, c.kubeconfig)
				good.forget()
				manager.grows = true
				manager.usual += int64(each.number) * each.each // the objects stay in its cache
				manager.withstands(t, what, atMost, func(ctx context.Context) string {
					good.worksDuring(ctx, t, happens)
					return fmt.Sprintf("%s; peak %d MiB", good, manager.Peak()>>20)
				})
				good.inTime(t, what)
				if manager.Failure() == "" {
					manager.Terminate(t, endWithin)
				}
			}
			nothing := func(context.Context) {}
			attacked(fmt.Sprintf("%d %ss of 250 KB", each.number, each.name), func(ctx context.Context) { bad.fatten(ctx, t, each.kind, each.number, each.change) })
			attacked("restart with the "+each.name+"s", nothing)
			attacked("deletion of the "+each.name+"s", func(ctx context.Context) { bad.deleteFat(ctx, t, each.kind, each.number) })
			attacked("restart with the deleted "+each.name+"s", nothing)
			t.Log(bad.created)
		})
	}
}
