// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// apiServer has one Agent and its ConfigMap. The manager's cache shows them as of its last sync.
type apiServer struct {
	client.Reader
	agent     *a2av1alpha1.Agent
	configMap *corev1.ConfigMap
	cached    *corev1.ConfigMap
	// reads is the number of reads that the cache did not serve. They fail with failure if it is
	// not nil.
	reads   int
	failure error
}

// sync updates the cache.
func (s *apiServer) sync(t *testing.T) {
	t.Helper()
	kept, err := informercache.StripForeign(s.configMap.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	s.cached = kept.(*corev1.ConfigMap)
}

func (s *apiServer) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.reads++
	if s.configMap != nil {
		list.(*corev1.ConfigMapList).Items = []corev1.ConfigMap{*s.configMap.DeepCopy()}
	}
	return s.failure
}

// readDeleted returns the function that the manager gives to a Source.
func readDeleted(live client.Reader) func(context.Context, metav1.Object, *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	return func(ctx context.Context, agent metav1.Object, cached *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		return informercache.WithData(ctx, live, agent, cached)
	}
}

// TestSourceOfDeletedConfigMap checks that the registry shows the card of an Agent while a finalizer keeps the
// deleted ConfigMap, of which the cache has no data.
func TestSourceOfDeletedConfigMap(t *testing.T) {
	api := &apiServer{agent: testAgent()}
	published := func(description, version string) {
		api.configMap = testConfigMap(t, api.agent, description)
		api.configMap.ResourceVersion = version
		api.configMap.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
		api.configMap.DeletionTimestamp, api.configMap.Finalizers = new(metav1.Unix(1, 0)), []string{"example.com/backup"}
	}
	read := func(last *Entry, description string, reads int) *Entry {
		t.Helper()
		api.reads = 0
		source := &Source{Reader: &cacheOf{api}, ReadDeleted: readDeleted(api)}
		e, view := readEcho(t, source, last)
		if len(view.Skills) != 1 || view.Description != description || view.CardDigest == "" {
			t.Errorf("the entry is %+v, want a card with the description %q and one skill", view, description)
		}
		if api.reads != reads {
			t.Errorf("the source read %d times from the API server, want %d", api.reads, reads)
		}
		return e
	}
	published("First", "7")
	api.sync(t)
	first := read(nil, "First", 1)
	if same := read(first, "First", 0); same != first {
		t.Error("nothing changed, and the entry was made again")
	}
	api.agent.Status.Conditions = []metav1.Condition{{Type: a2av1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}}
	ready := read(first, "First", 0)

	published("Second", "8")
	api.sync(t)
	second := read(ready, "Second", 1)
	if second.Revision.ConfigMaps != 8 {
		t.Errorf("the entry has the revision %v, want that of the ConfigMap, 8", second.Revision)
	}
	published("Third", "9") // the cache does not show it yet
	third := read(ready, "Third", 1)
	api.sync(t)
	read(third, "Third", 0)

	api.agent.Spec.Remote = &a2av1alpha1.AgentRemote{URL: "https://far.example"}
	api.configMap.Data = map[string]string{sidecarconfig.CardFileName: `{"name":"Far","description":"From afar","version":"2","skills":[{"id":"s"}]}`}
	remote := read(third, "From afar", 1) // another key of the same ConfigMap
	read(remote, "From afar", 0)

	source := &Source{Reader: &cacheOf{api}, ReadDeleted: readDeleted(api)}
	api.failure = errors.New("no connection")
	if _, err := source.Read(t.Context(), Key{"team-a", "echo"}, nil, Revision{}); !errors.Is(err, api.failure) {
		t.Errorf("Read() error = %v, want %v", err, api.failure)
	}
	api.failure, api.configMap = nil, nil
	if e, view := readEcho(t, source, third); e.source.Text != "" || len(view.Skills) != 0 {
		t.Errorf("after the end of the ConfigMap: %+v, want no card", view)
	}
}

// cacheOf is the manager's cache of an API server.
type cacheOf struct{ *apiServer }

func (c *cacheOf) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return (&uncopied{agent: c.agent, config: c.cached}).Get(ctx, key, object, options...)
}
