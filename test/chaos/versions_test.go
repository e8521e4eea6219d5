// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
)

// contested is the number of Agents that two operators watch, and contestTime the time in which both are killed again and again while
// users edit the Agents. CONTESTED=200 and CONTEST_TIME=10m set them.
var (
	contested   = 20
	contestTime time.Duration
)

// TestTwoVersions runs two operators of two versions over the same Agents: FROM and the working tree, each of them as the first one.
// The first one manages all Agents, also after both were killed. The second one writes a condition, once for each Agent. When the
// first one is gone, the second one takes over after operatorclaim.GoneAfter.
func TestTwoVersions(t *testing.T) {
	if !full {
		t.Skip("it builds two managers and waits for minutes: make chaos-upgrade")
	}
	if text := os.Getenv("CONTESTED"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		contested = n
	}
	if text := os.Getenv("CONTEST_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		contestTime = d
	}
	older, newer := build(t, from(t)), build(t, "")
	t.Logf("from %s", older.name)
	newUpgrade(t).install(newer)
	t.Run("orders", func(t *testing.T) {
		for name, versions := range map[string][2]version{"older-first": {older, newer}, "newer-first": {newer, older}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				contest(t, "chaos-"+name, versions[0], versions[1])
			})
		}
	})
}

// rival is one of two operators that watch the same Agents.
type rival struct {
	t         *testing.T
	version   version
	namespace string
	name      string
	process   *process
	// transports has a transport for each start of the process.
	transports []*transport
}

// start starts the operator.
func (r *rival) start() {
	r.t.Helper()
	seen := &transport{}
	r.transports = append(r.transports, seen)
	r.process = r.version.run(r.t, r.namespace, func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	}, "--leader-elect", "--namespace", r.namespace, "--name", r.name)
}

// kill ends the operator with SIGKILL.
func (r *rival) kill() {
	r.t.Helper()
	if err := r.process.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	<-r.process.exited
}

// self is the operator in status.operator.
func (r *rival) self() string { return r.namespace + "/" + r.name }

// writes returns the writes of the operator to objects of users and their dependents. Leases and events are its own.
func (r *rival) writes() (all []string) {
	for _, each := range r.transports {
		for _, write := range each.writesSince(0) {
			if !strings.Contains(write, "/leases") && !strings.Contains(write, "/events") && strings.Contains(write, "/namespaces/") {
				all = append(all, write)
			}
		}
	}
	return all
}

func contest(t *testing.T, namespace string, one, two version) {
	t.Helper()
	ensureNamespace(t, namespace)
	runKubelet(t, namespace)
	b := &bench{t: t, namespace: namespace, user: &user{cluster: cluster, namespace: namespace}, transport: &transport{}, runTimeout: operatorclaim.GoneAfter + 3*time.Minute}
	b.clean()
	first := &rival{t: t, version: one, namespace: namespace, name: "first"}
	second := &rival{t: t, version: two, namespace: namespace, name: "second"}
	if err := cluster.Create(t.Context(), b.user.skill()); err != nil {
		t.Fatal(err)
	}
	for i := range contested {
		agent := b.user.agent()
		agent.Name = fmt.Sprintf("echo-%d", i)
		if err := cluster.Create(t.Context(), agent); err != nil {
			t.Fatal(err)
		}
	}
	first.start()
	b.managed(first, 0)
	second.start()
	b.eventually("the second operator leaves the Agents alone", func() string {
		return b.each(func(agent *a2av1alpha1.Agent) string {
			if meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionManagedByAnotherOperator) {
				return ""
			}
			return agent.Name + " has no condition"
		})
	})
	b.edited("Once.")
	b.managed(first, 0)

	rounds := 0
	for began := time.Now(); rounds == 0 || time.Since(began) < contestTime; rounds++ {
		first.kill()
		b.edited(fmt.Sprintf("Edited in round %d while the first operator is away.", rounds))
		first.start()
		b.managed(first, 0)
		second.kill()
		second.version = [...]version{one, two}[rounds%2] // it is up- or downgraded while the first operator holds the claims
		second.start()
		b.edited(fmt.Sprintf("Edited again in round %d.", rounds))
		b.managed(first, 0)
	}
	writes := second.writes()
	for _, write := range writes {
		if !strings.HasPrefix(write, "PATCH ") || !strings.HasSuffix(write, "/status") {
			t.Errorf("the second operator wrote %s", write)
		}
	}
	objects := contested + 1 // and the skill
	if len(writes) > objects {
		t.Errorf("the second operator wrote %d times, want one condition for each of %d objects:\n%s", len(writes), objects, strings.Join(writes, "\n"))
	}

	killed := time.Now()
	first.kill()
	b.edited("By nobody.")
	b.managed(second, operatorclaim.GoneAfter)
	t.Logf("%d Agents, each edited %d times while each operator was killed %d times; the second operator wrote %d conditions and took over %s after the end of the first one",
		contested, 2*rounds+1, rounds, len(writes), time.Since(killed).Round(time.Second))
	b.eventually("no condition remains", func() string {
		return b.each(func(agent *a2av1alpha1.Agent) string {
			if meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionManagedByAnotherOperator) {
				return agent.Name + " has the condition"
			}
			return ""
		})
	})
}

// each calls check for all Agents, and returns its first complaint.
func (b *bench) each(check func(*a2av1alpha1.Agent) string) string {
	list := &a2av1alpha1.AgentList{}
	if err := cluster.List(b.t.Context(), list, client.InNamespace(b.namespace)); err != nil {
		return err.Error()
	}
	if len(list.Items) != contested {
		return fmt.Sprintf("%d Agents", len(list.Items))
	}
	for i := range list.Items {
		if complaint := check(&list.Items[i]); complaint != "" {
			return complaint
		}
	}
	return ""
}

// edited changes the description of all Agents.
func (b *bench) edited(description string) {
	b.t.Helper()
	for i := range contested {
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fmt.Sprintf("echo-%d", i)}}
		patch := fmt.Sprintf(`{"spec":{"description":%q}}`, description)
		if err := cluster.Patch(b.t.Context(), agent, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			b.t.Fatal(err)
		}
	}
}

// managed waits until an operator manages all Agents in their present generation, and fails the test if it does before a time has passed.
func (b *bench) managed(by *rival, after time.Duration) {
	b.t.Helper()
	began := time.Now()
	b.eventually("the Agents to be managed by "+by.self(), func() string {
		return b.each(func(agent *a2av1alpha1.Agent) string {
			switch {
			case agent.Status.Operator != by.self():
				return fmt.Sprintf("%s is managed by %q\n%s", agent.Name, agent.Status.Operator, by.process.output.String())
			case agent.Status.ObservedGeneration != agent.Generation:
				return fmt.Sprintf("%s: generation %d of %d\n%s", agent.Name, agent.Status.ObservedGeneration, agent.Generation, by.process.output.String())
			}
			return ""
		})
	})
	if took := time.Since(began); took < after {
		b.t.Errorf("%s took the Agents over after %s, want %s at least", by.self(), took, after)
	}
}
