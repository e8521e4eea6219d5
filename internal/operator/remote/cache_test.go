// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

func named(namespace, name string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		a.Namespace = namespace
		a.Name = name
	}
}

func (c cache) length() int {
	n, _ := c.Size()
	return n
}

func (c cache) cost() int {
	_, cost := c.Size()
	return cost
}

// TestCredentialsOfDeletedAgentsAreDropped checks that nothing remains of an Agent that has been deleted, neither of its own credential nor
// of those for users.
func TestCredentialsOfDeletedAgentsAreDropped(t *testing.T) {
	server := &tokenServer{answer: issue("a", "")}
	e := newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"}))
	credentials := NewCredentials(e, server, clock.RealClock{})
	s := New(Options{Agents: e, Credentials: credentials, Guard: e, Clock: clock.RealClock{}})
	for i := range 10 {
		a := remoteAgent(named("team", fmt.Sprint(i)), withCredentials(exchanging()))
		for _, user := range []remotecredential.User{{}, {Token: "one", Expires: time.Now().Add(time.Hour)}} {
			if _, _, err := credentials.Of(t.Context(), a, user, ""); err != nil {
				t.Fatal(err)
			}
		}
		if credentials.agents.length() == 0 || credentials.users.length() != 1 {
			t.Errorf("%d credentials of Agents and %d of users are cached", credentials.agents.length(), credentials.users.length())
		}
		s.AgentDeleted(client.ObjectKeyFromObject(a))
	}
	if n := credentials.agents.length() + credentials.users.length(); n != 0 || credentials.agents.cost()+credentials.users.cost() != 0 {
		t.Errorf("%d credentials of deleted Agents are cached, of %d bytes", n, credentials.agents.cost()+credentials.users.cost())
	}
}

// TestTenantDoesNotEvictCredentialsOfOthers lets a namespace fill both caches, with credentials of the largest size and with many users.
// The credentials of another namespace and of its users remain, and those that the namespace uses itself.
func TestTenantDoesNotEvictCredentialsOfOthers(t *testing.T) {
	server := &tokenServer{answer: issue("a", `,"expires_in":3600`)}
	quiet := secretOf(map[string]string{"client-secret": "swordfish"})
	quiet.Namespace = "quiet"
	e := newFakeRemote(t, quiet, secretOf(map[string]string{"client-secret": "swordfish", "token": strings.Repeat("a", maxValue)}))
	credentials := NewCredentials(e, server, clock.RealClock{})
	get := func(a *a2av1alpha1.Agent, token string) {
		t.Helper()
		user := remotecredential.User{Token: token}
		if token != "" {
			user.Expires = time.Now().Add(time.Hour)
		}
		if _, _, err := credentials.Of(t.Context(), a, user, ""); err != nil {
			t.Fatal(err)
		}
	}
	other := remoteAgent(named("quiet", "echo"), withCredentials(exchanging()))
	crowded := remoteAgent(withCredentials(exchanging()))
	get(other, "")
	get(other, "one")
	for i := range maxCacheCost/minEntryCost + 10 {
		get(crowded, fmt.Sprint(i))
		get(crowded, "0")
	}
	for i := range maxCacheCost/maxValue + 10 {
		get(remoteAgent(named("team", fmt.Sprint(i)), withCredentials(a2av1alpha1.RemoteCredentials{})), "")
	}
	for name, c := range map[string]cache{"Agents": credentials.agents, "users": credentials.users} {
		if c.cost() > maxCacheCost || c.cost() < maxCacheCost-2*maxValue || c.length() > maxCacheCost/minEntryCost {
			t.Errorf("the cache of %s has %d entries of %d bytes", name, c.length(), c.cost())
		}
	}
	made := server.requests.Load()
	get(other, "")
	get(other, "one")
	get(crowded, "0")
	if n := server.requests.Load() - made; n != 0 {
		t.Errorf("%d tokens were evicted that are in use, or are of another namespace", n)
	}
}
