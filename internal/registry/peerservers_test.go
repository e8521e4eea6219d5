// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
)

// Two registries serve from the caches of their clusters. One registry finds the agents that
// the other one exports, and continues to serve when the other one stops.
func TestARegistryFindsTheExportedAgentsOfAnotherOneWhileItRuns(t *testing.T) {
	agent := func(name string, visibility a2av1alpha1.Visibility) *a2av1alpha1.Agent {
		a := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team-z", Name: name}}
		a.Spec.Description, a.Spec.Discovery.Visibility = "Forecasts rain.", visibility
		a.Status.ExternalURL = "https://agents.example/" + name
		return a
	}
	run := func(name, peersFile string, agents ...*a2av1alpha1.Agent) (server *Server, stop func()) {
		t.Helper()
		objects := make([]client.Object, len(agents))
		for i := range agents {
			objects[i] = agents[i]
		}
		informers := newFakeInformers()
		server, stop = start(t, Options{
			Cache: informers.cache(newClient(t, objects...)), Reviews: &apiServer{allowed: map[string]bool{"": true}},
			Publisher: &ard.Publisher{Domain: name + ".example", BaseURL: "https://" + name + ".example"}, PeersFile: peersFile,
		})
		informers.synced()
		waitFor(t, func() error { return server.Ready(nil) })
		for _, o := range objects {
			informers.of(a2av1alpha1.GroupVersion, a2av1alpha1.AgentKind).Add(o)
		}
		waitFor(t, func() error {
			if size := len(slices.Collect(server.feed.Current().All)); size < len(objects) {
				return fmt.Errorf("%d of %d agents are indexed", size, len(objects))
			}
			return nil
		})
		return server, stop
	}
	west, stopWest := run("west", "", agent("rain", a2av1alpha1.VisibilityFederated), agent("storm", a2av1alpha1.VisibilityPublic), agent("secret", a2av1alpha1.VisibilityCluster))
	dir := t.TempDir()
	token, peersFile := filepath.Join(dir, "token"), filepath.Join(dir, "peers.yaml")
	err := errors.Join(os.WriteFile(token, []byte("token-of-east"), 0o600), os.WriteFile(peersFile, fmt.Appendf(nil,
		"peers: [{name: west, url: 'http://%s/ard', publisher: west.example, mode: Forward, tokenFile: %s}]", west.options.BindAddress, token), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	east, _ := run("east", peersFile, agent("sun", a2av1alpha1.VisibilityCluster))
	search := func() (found, peers string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+east.options.BindAddress+"/ard/search", strings.NewReader(rainQuery))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer token")
		response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("POST /ard/search = %s %s, %v", response.Status, body, err)
		}
		return strings.Join(fullIdentifiers(decodeAs[ard.SearchResponse](t, string(body)).Results), " "), response.Header.Get(federation.PeersHeader)
	}
	if found, peers := search(); found != "urn:air:east.example:team-z:sun urn:air:west.example:team-z:rain urn:air:west.example:team-z:storm" || peers != "west;outcome=success;results=2" {
		t.Errorf("found %q of %q", found, peers)
	}
	stopWest()
	if found, peers := search(); found != "urn:air:east.example:team-z:sun" || peers != "west;outcome=unreachable" {
		t.Errorf("after the end of west: found %q of %q", found, peers)
	}
}
