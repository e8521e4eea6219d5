// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	stdcmp "cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	agentsCRD = "a2a-operator.dev_agents.yaml"
	skillsCRD = "a2a-operator.dev_agentskills.yaml"
	// varied is the number of Agents that are created under each version.
	varied = 100
	// upgradeIdleFor is how long an idle manager sends nothing.
	upgradeIdleFor = 3 * time.Second
)

// TestUpgrade is the campaign "upgrade" of docs/explanation/reliability.md. It creates Agents with the
// manager and the CRDs of an older version, FROM. Then it upgrades manager and CRDs, and creates more
// Agents. Then it runs the older manager with the newer CRDs, and at last the newer manager again. After
// each step, no field may be lost, no pod template may have changed, and no object may have been created
// again. At the end, no writes may follow.
func TestUpgrade(t *testing.T) {
	if !full {
		t.Skip("it builds two managers: make chaos-upgrade")
	}
	older, newer := build(t, from(t)), build(t, "")
	t.Logf("from %s", older.name)
	u := newUpgrade(t)
	u.install(older)
	u.run(older)
	if err := cluster.Create(t.Context(), u.user.skill()); err != nil {
		t.Fatal(err)
	}
	makeVariety(t, u.user, older, "older", varied)
	made := u.waitStable("made by the older version")

	u.install(newer)
	u.run(newer)
	upgraded := u.waitStable("upgraded")
	u.compare("upgrade", made, upgraded)
	makeVariety(t, u.user, newer, "newer", varied)
	all := u.waitStable("with the newer Agents")
	state := u.unnumberedState()

	u.run(older)
	back := u.waitStable("downgraded")
	u.compare("downgrade", all, back)
	u.works()

	u.run(newer)
	u.compare("second upgrade", all, u.waitStable("upgraded again"))
	if diff := cmp.Diff(state, u.unnumberedState()); diff != "" {
		t.Errorf("after a downgrade and an upgrade the state differs (-before +after):\n%s", diff)
	}
}

// from returns the older version: FROM, or the last tag, or the last commit that changed the
// released CRDs.
func from(t *testing.T) string {
	t.Helper()
	if ref := os.Getenv("FROM"); ref != "" {
		return ref
	}
	if tags := strings.Fields(command(t, root, "git", "tag", "--merged", "HEAD", "--sort=-version:refname", "v*")); len(tags) > 0 {
		return tags[0]
	}
	return command(t, root, "git", "log", "-1", "--format=%H", "--", "config/crd/released")
}

// upgrade is a namespace, and the manager that runs at this time. The test replaces the manager by one of another
// version.
type upgrade struct {
	*bench
	process *process
}

func newUpgrade(t *testing.T) *upgrade {
	t.Helper()
	const namespace = "chaos-upgrade"
	u := &upgrade{bench: &bench{t: t, namespace: namespace, user: &user{cluster: cluster, namespace: namespace}, transport: &transport{}}}
	ensureNamespace(t, namespace)
	// Delete the objects that other campaigns left: older managers reconcile the objects of all namespaces.
	for _, kind := range written() {
		list := listOf(kind)
		if err := cluster.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, object := range objects(list) {
			if err := cluster.Delete(t.Context(), object); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
		}
	}
	runKubelet(t, namespace)
	u.clean()
	// Restore the CRDs of the working tree for the other tests.
	t.Cleanup(func() {
		for _, file := range []string{agentsCRD, skillsCRD} {
			if err := installCRD(context.Background(), filepath.Join(root, "config", "crd", "bases", file)); err != nil {
				t.Error(err)
			}
		}
	})
	return u
}

// install installs the CRDs of a version.
func (u *upgrade) install(v version) {
	u.t.Helper()
	for _, file := range []string{agentsCRD, skillsCRD} {
		if err := installCRD(u.t.Context(), filepath.Join(v.crds, file)); err != nil {
			u.t.Fatal(err)
		}
	}
}

// run stops the running manager and starts that of a version.
func (u *upgrade) run(v version) {
	u.t.Helper()
	if u.process != nil {
		u.process.end()
	}
	u.transport = &transport{}
	u.process = v.run(u.t, u.namespace, func(next http.RoundTripper) http.RoundTripper {
		u.transport.next = next
		return u.transport
	})
}

// waitStable waits until the manager is idle, and then expects no writes.
func (u *upgrade) waitStable(what string) snapshot {
	u.t.Helper()
	const quietPeriod = 10 * time.Second
	began := time.Now()
	u.eventually(what, func() string {
		if !u.transport.watches("/agents") {
			return "the manager does not watch yet:\n" + u.process.output.String()
		}
		if _, err := stateOf(u.t.Context(), u.namespace); err != nil {
			return err.Error()
		}
		if min(time.Since(seen.lastChange(u.namespace)), u.transport.rest()) < upgradeIdleFor {
			return "still moving"
		}
		return ""
	})
	writes := kindsOf(u.transport.writesSince(0))
	before := u.state()
	if moved := u.changesWhileIdle(before, quietPeriod); moved != "" {
		u.t.Errorf("%s: written while idle: %s", what, moved)
	}
	u.t.Logf("%s: idle after %s; written: %s; then no change for %s", what, time.Since(began).Round(time.Second), writes, quietPeriod)
	return u.snapshot()
}

// changesWhileIdle returns the writes that the API server accepts from an idle manager, and the changes of the state, within a duration. Random
// Agents have fields that the API server refuses, and the manager tries some of them again each minute.
func (u *upgrade) changesWhileIdle(want string, pause time.Duration) string {
	u.t.Helper()
	written := len(u.transport.writesSince(0))
	refused := len(u.transport.refusalsSince(0))
	timer := time.NewTimer(pause)
	<-timer.C
	accepted := u.transport.writesSince(written)
	for _, write := range u.transport.refusalsSince(refused) {
		if i := slices.Index(accepted, write); i >= 0 {
			accepted = slices.Delete(accepted, i, i+1)
		}
	}
	return strings.Join(accepted, "\n") + cmp.Diff(want, u.state())
}

var revisionNumber = regexp.MustCompile(`lastGood: "?\d+"?`)

// unnumberedState is the state without the numbers of revisions, which count the changes that works makes.
func (u *upgrade) unnumberedState() string {
	u.t.Helper()
	return revisionNumber.ReplaceAllString(u.state(), "lastGood: N")
}

// snapshot is the state that may not change with a version.
type snapshot struct {
	specs, templates map[string]any
	// uids holds the UIDs of all objects of the Agents.
	uids map[string]string
	// ready holds the Agents without a user error.
	ready map[string]bool
}

func (u *upgrade) snapshot() snapshot {
	u.t.Helper()
	s := snapshot{specs: map[string]any{}, templates: map[string]any{}, uids: map[string]string{}, ready: map[string]bool{}}
	agents := &unstructured.UnstructuredList{}
	agents.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind + "List"))
	if err := cluster.List(u.t.Context(), agents, client.InNamespace(u.namespace)); err != nil {
		u.t.Fatal(err)
	}
	for _, agent := range agents.Items {
		s.specs[agent.GetName()] = agent.Object["spec"]
		s.ready[agent.GetName()] = u.isReady(agent.GetName())
	}
	for _, object := range u.owned() {
		s.uids[object.GetKind()+" "+object.GetName()] = string(object.GetUID())
		if object.GetKind() == "Deployment" {
			template, _, err := unstructured.NestedMap(object.Object, "spec", "template")
			if err != nil {
				u.t.Fatal(err)
			}
			s.templates[object.GetName()] = template
		}
	}
	return s
}

func (u *upgrade) isReady(name string) bool {
	agent := u.user.agent()
	agent.Name = name
	if err := cluster.Get(u.t.Context(), client.ObjectKeyFromObject(agent), agent); err != nil {
		u.t.Fatal(err)
	}
	return slices.ContainsFunc(agent.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == a2av1alpha1.ConditionReady && c.Status == metav1.ConditionTrue
	})
}

// compare reports the effects of a change of versions.
func (u *upgrade) compare(what string, before, after snapshot) {
	u.t.Helper()
	restarts := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(before.specs)) {
		if gone := missing(before.specs[name], after.specs[name], "spec"); len(gone) > 0 {
			u.t.Errorf("%s: %s has lost %s", what, name, strings.Join(gone, ", "))
		}
		if before.ready[name] && !after.ready[name] {
			u.t.Errorf("%s: %s is not ready any more", what, name)
		}
		if diff := cmp.Diff(before.templates[name], after.templates[name]); diff != "" {
			// cmp varies the spaces in its output.
			diff = strings.ReplaceAll(strings.ReplaceAll(diff, "\u00a0", " "), name, "NAME")
			restarts[diff] = append(restarts[diff], name)
		}
	}
	for key, uid := range before.uids {
		if now := after.uids[key]; now != uid && !strings.HasPrefix(key, "Pod ") {
			u.t.Errorf("%s: %s was created again", what, key)
		}
	}
	u.t.Logf("%s: %d Agents, of which %d were ready, %d objects", what, len(before.specs), count(before.ready), len(before.uids))
	for _, diff := range slices.Sorted(maps.Keys(restarts)) {
		u.t.Errorf("%s: %s restart, since\n%s", what, strings.Join(restarts[diff], ", "), diff)
	}
}

// missing returns the paths of the values of before that are gone or different in after. Further members of after, such
// as new defaults, are allowed.
func missing(before, after any, path string) []string {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return []string{path}
		}
		var all []string
		for name, member := range b {
			all = append(all, missing(member, a[name], path+"."+name)...)
		}
		return all
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) != len(b) {
			return []string{path}
		}
		var all []string
		for i := range b {
			all = append(all, missing(b[i], a[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return all
	default:
		if !cmp.Equal(before, after) {
			return []string{path}
		}
		return nil
	}
}

// works changes some Agents and reverts the change. It expects that the running manager acts on both.
func (u *upgrade) works() {
	u.t.Helper()
	var names []string
	const most = 6
	for _, agent := range u.agents() {
		if len(names) < most && u.isReady(agent.Name) && u.image(agent.Name) == "example/echo:1" {
			names = append(names, agent.Name)
		}
	}
	if len(names) == 0 {
		u.t.Error("no Agent to be changed is ready")
	}
	for _, image := range []string{"example/echo:2", "example/echo:1"} {
		for _, name := range names {
			agent := u.user.agent()
			agent.Name = name
			patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/workload/template/spec/containers/0/image","value":%q}]`, image)
			if err := cluster.Patch(u.t.Context(), agent, client.RawPatch("application/json-patch+json", []byte(patch))); err != nil {
				u.t.Fatal(err)
			}
			u.eventually("the older manager to act on "+name, func() string {
				if got := u.image(name); got != image {
					return got
				}
				return ""
			})
		}
	}
	u.waitStable("changed and put back")
}

// image returns the image of a Deployment.
func (u *upgrade) image(name string) string {
	d := &appsv1.Deployment{}
	if err := cluster.Get(u.t.Context(), client.ObjectKey{Namespace: u.namespace, Name: name}, d); err != nil {
		return err.Error()
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

// kindsOf counts writes by their resource.
func kindsOf(writes []string) string {
	counts := map[string]int{}
	for _, write := range writes {
		method, path, _ := strings.Cut(write, " ")
		parts := strings.Split(path, "/")
		kind := parts[slices.Index(parts, "namespaces")+2]
		if parts[len(parts)-1] == "status" {
			kind += "/status"
		}
		counts[method+" "+kind]++
	}
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return stdcmp.Or(strings.Join(all, ", "), "nothing")
}

func count(set map[string]bool) int {
	n := 0
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

// installCRD replaces a CRD by that of a file.
func installCRD(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return err
	}
	for {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(crd), now); err != nil {
			return err
		}
		var fields map[string]any
		if err := yaml.Unmarshal(text, &fields); err != nil {
			return err
		}
		now.Object["spec"] = fields["spec"]
		if err := cluster.Update(ctx, now); !apierrors.IsConflict(err) {
			return err
		}
	}
}
