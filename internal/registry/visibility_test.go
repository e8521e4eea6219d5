// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// viewers binds the caller of apiServer to a ClusterRole in a namespace.
func viewers(namespace string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "viewer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "team-a", Name: "bot"}},
	}
}

// A caller sees the agents of a namespace while an RBAC object and a review let it, and
// the reviews do not depend on the agents that it searches for.
func TestAgentsAreVisibleWhileTheirNamespaceIsBound(t *testing.T) {
	var objects []client.Object
	for i := range 40 {
		objects = append(objects, &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("hidden-%02d", i), Name: "secret"}})
	}
	objects = append(objects, &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "echo"}})
	informers, reviews := newFakeInformers(), &apiServer{allowed: map[string]bool{"team-b": true}}
	bindings := informers.of(rbacv1.SchemeGroupVersion, "RoleBinding")
	server, _ := start(t, Options{Cache: informers.cache(newClient(t, objects...)), Reviews: reviews})
	informers.synced()
	waitFor(t, func() error { return server.Ready(nil) })
	for _, o := range objects {
		informers.of(a2av1alpha1.GroupVersion, a2av1alpha1.AgentKind).Add(o)
	}
	waitFor(t, func() error {
		if s := server.feed.Current(); s == nil || s.Size() < len(objects) {
			return fmt.Errorf("not all of %d agents are indexed", len(objects))
		}
		return nil
	})
	url := "http://" + server.options.BindAddress + "/v1/agents"
	expect := func(what, path string, want, reviewed int) {
		t.Helper()
		if err := status(t, url+path, "token", want); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := reviews.takeReviews(); got != reviewed {
			t.Errorf("%s took %d reviews, want %d", what, got, reviewed)
		}
	}
	expect("the first search", "?text=secret", http.StatusOK, 1)
	expect("a search for hidden agents", "?text=secret", http.StatusOK, 0)
	expect("a search for absent agents", "?text=absent", http.StatusOK, 0)
	expect("a search in a hidden namespace", "?namespace=hidden-01", http.StatusOK, 0)
	expect("a search in an absent namespace", "?namespace=absent", http.StatusOK, 0)
	expect("a hidden agent", "/hidden-01/secret", http.StatusNotFound, 0)
	expect("an absent agent", "/absent/secret", http.StatusNotFound, 0)

	informers.of(rbacv1.SchemeGroupVersion, "ClusterRole").Add(&rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{"agents"}}},
	})
	expect("before the binding", "/team-b/echo", http.StatusNotFound, 0)
	bindings.Add(viewers("team-b"))
	expect("after the binding", "/team-b/echo", http.StatusOK, 1)
	bindings.Delete(viewers("team-b"))
	expect("after the end of the binding", "/team-b/echo", http.StatusNotFound, 0)
}
