// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// keep makes a kept revision of an Agent with an image, and with a Secret that its container reads.
func (c *cluster) keep(t *testing.T, agent *a2av1alpha1.Agent, number int64, image, secret string) {
	t.Helper()
	spec := a2av1alpha1.AgentSpec{Version: image[len(image)-1:] + ".0.0", Workload: &a2av1alpha1.AgentWorkload{}}
	container := corev1.Container{Name: "agent", Image: image}
	if secret != "" {
		container.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}}
	}
	spec.Workload.Template.Spec.Containers = []corev1.Container{container}
	text, err := json.Marshal(map[string]any{"sidecarImage": "example/sidecar:1", "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	c.create(t, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: agent.Namespace, Name: agent.Name + "-" + image[len(image)-1:], Labels: map[string]string{a2av1alpha1.LabelAgent: agent.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))},
		},
		Revision: number, Data: runtime.RawExtension{Raw: text},
	})
}

func TestRollback(t *testing.T) {
	c := startCluster(t)
	c.createNamespace(t)
	c.agent(t, "echo", "")
	agent := &a2av1alpha1.Agent{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "echo"}, agent); err != nil {
		t.Fatal(err)
	}
	kubeconfig := c.user(t, "operations",
		rbacv1.PolicyRule{APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{"agents"}, Verbs: []string{"get", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	plugin := func(arguments ...string) result {
		t.Helper()
		return run(t, append(arguments, "--kubeconfig", kubeconfig)...)
	}
	revision := func() int64 {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(agent), agent); err != nil {
			t.Fatal(err)
		}
		return agent.Spec.Workload.Revision
	}

	if r := plugin("history", "echo"); r.status != 0 || !strings.Contains(r.stderr, "it has not been ready yet") {
		t.Errorf("history without revisions: %+v", r)
	}
	if r := plugin("rollback", "echo"); r.status != 2 || !strings.Contains(r.stderr, "has no earlier revision") {
		t.Errorf("rollback without revisions: %+v", r)
	}

	c.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "kept"}})
	c.keep(t, agent, 1, "example/echo:1", "gone")
	c.keep(t, agent, 2, "example/\x1b:2", "kept") // run checks that no output has the escape
	c.keep(t, agent, 3, "example/echo:3", "")
	agent.Status.Revisions = &a2av1alpha1.AgentRevisions{LastGood: 3, LastGoodTemplate: "good"}
	if err := c.Status().Update(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "echo"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	deployment.Spec.Template.Labels = labels
	deployment.Spec.Template.Annotations = map[string]string{a2av1alpha1.AnnotationTemplateDigest: "good"}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "example/echo:3"}}
	c.create(t, deployment)

	r := plugin("history", "echo")
	for _, want := range []string{"REVISION", "3          ", "example/echo:3   last good", "1.0.0"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("history lacks %q: %+v", want, r)
		}
	}
	if r := plugin("rollback", "echo"); r.status != 0 || !strings.Contains(r.stdout, "goes back to revision 2") || revision() != 2 {
		t.Errorf("rollback from the last good revision: %+v", r)
	}
	if !slices.ContainsFunc(agent.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == a2av1alpha1.FieldOwnerRollback }) {
		t.Errorf("no field has the manager %s: %+v", a2av1alpha1.FieldOwnerRollback, agent.ManagedFields)
	}
	if r := plugin("rollback", "echo"); r.status != 2 || !strings.Contains(r.stderr, "revision 1 needs Secret gone") || revision() != 2 {
		t.Errorf("rollback to a revision whose Secret is gone: %+v", r)
	}
	if r := plugin("rollback", "echo", "--force"); r.status != 0 || !strings.Contains(r.stderr, "Warning: revision 1 needs Secret gone") || revision() != 1 {
		t.Errorf("forced rollback: %+v", r)
	}
	if r := plugin("rollback", "echo", "--to", "7"); r.status != 2 || !strings.Contains(r.stderr, "has no revision 7") {
		t.Errorf("rollback to a revision that is not kept: %+v", r)
	}
	if r := plugin("rollback", "echo", "--to", "-1"); r.status != 2 {
		t.Errorf("rollback to a negative revision: %+v", r)
	}
	if r := plugin("rollback", "echo", "--clear"); r.status != 0 || revision() != 0 {
		t.Errorf("return to the spec: %+v", r)
	}

	deployment.Spec.Template.Annotations[a2av1alpha1.AnnotationTemplateDigest] = "broken"
	if err := c.Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if r := plugin("rollback", "echo"); r.status != 0 || revision() != 3 {
		t.Errorf("rollback from a template that is not good: %+v", r)
	}
}

// TestRunningRevisionOfAnAgentWithoutCode reads the revision of an Agent without a workload.
func TestRunningRevisionOfAnAgentWithoutCode(t *testing.T) {
	agent := &a2av1alpha1.Agent{Spec: a2av1alpha1.AgentSpec{Model: &a2av1alpha1.AgentModel{URL: "http://models.svc/v1"}}}
	agent.Status.Revisions = &a2av1alpha1.AgentRevisions{Running: 2}
	if got, err := (&app{}).runningRevision(t.Context(), agent); got != 2 || err != nil {
		t.Errorf("runningRevision() = %d, %v", got, err)
	}
}

// TestRevisionsWithOneNumber has a revision of the operator and one that a tenant has created with its number.
func TestRevisionsWithOneNumber(t *testing.T) {
	revision := func(name string, number int64, digest string) appsv1.ControllerRevision {
		return appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{a2av1alpha1.AnnotationRevisionDigest: digest}}, Revision: number}
	}
	stored := []appsv1.ControllerRevision{revision("c", 3, "c"), revision("a", 2, "forged"), revision("b", 2, "good")}
	for name, test := range map[string]struct {
		status *a2av1alpha1.AgentRevisions
		number int64
		want   string
	}{
		"only one":                        {nil, 3, "c"},
		"the status names it":             {&a2av1alpha1.AgentRevisions{LastGood: 2, LastGoodDigest: "good"}, 2, "b"},
		"the status names another number": {&a2av1alpha1.AgentRevisions{LastGood: 3, LastGoodDigest: "c"}, 2, ""},
	} {
		found := onlyRevision(test.status, stored, test.number)
		if (found == nil) != (test.want == "") || found != nil && found.Name != test.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}
