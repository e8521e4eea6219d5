// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// The kinds of objects that a RoleRef names.
const (
	kindRole        = "Role"
	kindClusterRole = "ClusterRole"
)

// Bindings indexes the RBAC objects that let users and groups list Agents, or that make them
// peers. The index shows which rights need a review, and when the result of a review may change.
// It grants no right: only reviews do. Its methods are safe for concurrent use.
type Bindings struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// granting has the roles whose rules grant a right. The key of a ClusterRole has no
	// namespace.
	granting map[types.NamespacedName]roleRights
	// bindings has the bindings of all roles, including roles that grant no right, because the
	// rules of a role may change later. The key of a ClusterRoleBinding has no namespace.
	bindings map[types.NamespacedName]binding
	// bySubject has the bindings of each subject, and byRole the number of bindings of each
	// role.
	bySubject map[subject]map[types.NamespacedName]struct{}
	byRole    map[types.NamespacedName]int
	changedAt time.Time
	onChange  func()
}

// binding is the part of a RoleBinding or ClusterRoleBinding that determines rights.
type binding struct {
	role     types.NamespacedName
	subjects []subject
}

// roleRights are the rights that the rules of a role grant.
type roleRights struct{ list, peer bool }

// subject is a user or a group. A ServiceAccount is the user with the user name that is in its
// tokens.
type subject struct{ kind, name string }

// NewBindings returns an empty index.
func NewBindings(c clock.PassiveClock) *Bindings {
	return &Bindings{
		clock:     c,
		granting:  map[types.NamespacedName]roleRights{},
		bindings:  map[types.NamespacedName]binding{},
		bySubject: map[subject]map[types.NamespacedName]struct{}{},
		byRole:    map[types.NamespacedName]int{},
		onChange:  func() {},
	}
}

// grants are the rights that the RBAC objects grant to one caller.
type grants struct {
	// all is true if a ClusterRoleBinding lets the caller list the Agents of all namespaces.
	all bool
	// peer is true if a ClusterRoleBinding makes the caller a peer.
	peer bool
	// namespaces are the namespaces in which a RoleBinding lets the caller list Agents.
	namespaces map[string]struct{}
	// changedAt is the time of the last change of RBAC objects that possibly changed a right of
	// any caller.
	changedAt time.Time
}

// cover reports whether the RBAC objects grant a right to the caller.
func (g *grants) cover(r Right) bool {
	switch {
	case r.Peer:
		return g.peer
	case r.Namespace == "":
		return g.all
	default:
		_, bound := g.namespaces[r.Namespace]
		return g.all || bound
	}
}

// of returns the rights that the RBAC objects grant to a caller.
func (b *Bindings) of(c *Caller) grants {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := grants{namespaces: map[string]struct{}{}, changedAt: b.changedAt}
	b.add(&g, subject{rbacv1.UserKind, c.Username})
	for _, group := range c.Groups {
		b.add(&g, subject{rbacv1.GroupKind, group})
	}
	return g
}

func (b *Bindings) add(g *grants, s subject) {
	for name := range b.bySubject[s] {
		rights := b.granting[b.bindings[name].role]
		switch {
		case name.Namespace == "":
			g.all = g.all || rights.list
			g.peer = g.peer || rights.peer
		case rights.list:
			g.namespaces[name.Namespace] = struct{}{}
		}
	}
}

// setRole stores the rights that the rules of a role grant. A deleted role has no rules.
func (b *Bindings) setRole(name types.NamespacedName, rules []rbacv1.PolicyRule) {
	b.mu.Lock()
	last := b.granting[name]
	next := roleRights{list: slices.ContainsFunc(rules, allowsList), peer: slices.ContainsFunc(rules, allowsPeer)}
	if next != (roleRights{}) {
		b.granting[name] = next
	} else {
		delete(b.granting, name)
	}
	b.unlockChanged(next != last && b.byRole[name] > 0)
}

// setBinding records a binding. A deleted binding has no subjects.
func (b *Bindings) setBinding(name types.NamespacedName, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	next := binding{role: roleOf(name.Namespace, ref), subjects: subjectsOf(name.Namespace, subjects)}
	b.mu.Lock()
	last := b.bindings[name]
	if last.role == next.role && slices.Equal(last.subjects, next.subjects) {
		b.mu.Unlock()
		return
	}
	for _, s := range last.subjects {
		delete(b.bySubject[s], name)
		if len(b.bySubject[s]) == 0 {
			delete(b.bySubject, s)
		}
	}
	if len(last.subjects) > 0 {
		b.byRole[last.role]--
		if b.byRole[last.role] == 0 {
			delete(b.byRole, last.role)
		}
	}
	delete(b.bindings, name)
	if len(next.subjects) > 0 {
		b.bindings[name] = next
		b.byRole[next.role]++
	}
	for _, s := range next.subjects {
		if b.bySubject[s] == nil {
			b.bySubject[s] = map[types.NamespacedName]struct{}{}
		}
		b.bySubject[s][name] = struct{}{}
	}
	_, lastGranted := b.granting[last.role]
	_, nextGrants := b.granting[next.role]
	b.unlockChanged(lastGranted && len(last.subjects) > 0 || nextGrants && len(next.subjects) > 0)
}

// unlockChanged unlocks mu. If changed is true, it records the time of the change before the
// unlock, and calls onChange after it.
func (b *Bindings) unlockChanged(changed bool) {
	onChange := b.onChange
	if changed {
		b.changedAt = b.clock.Now()
	}
	b.mu.Unlock()
	if changed {
		onChange()
	}
}

// notify sets the function that is called after each change that may change a right of a caller.
func (b *Bindings) notify(onChange func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onChange = onChange
}

// roleOf returns the name of the role of a binding in a namespace.
func roleOf(namespace string, ref rbacv1.RoleRef) types.NamespacedName {
	if ref.Kind == kindClusterRole {
		return types.NamespacedName{Name: ref.Name}
	}
	return types.NamespacedName{Namespace: namespace, Name: ref.Name}
}

// subjectsOf returns the subjects of a binding, without duplicates. namespace is the namespace of
// the binding.
func subjectsOf(namespace string, subjects []rbacv1.Subject) []subject {
	distinct := map[subject]struct{}{}
	for i := range subjects {
		s := &subjects[i]
		switch s.Kind {
		case rbacv1.UserKind, rbacv1.GroupKind:
			distinct[subject{s.Kind, s.Name}] = struct{}{}
		case rbacv1.ServiceAccountKind:
			// If a ServiceAccount has no namespace, which the API server does not allow, the RBAC
			// authorizer uses the namespace of the binding. This index does the same.
			distinct[subject{rbacv1.UserKind, serviceAccountPrefix + cmp.Or(s.Namespace, namespace) + ":" + s.Name}] = struct{}{}
		default:
		}
	}
	return slices.SortedFunc(maps.Keys(distinct), func(a, b subject) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.name, b.name))
	})
}

// allowsList reports whether a rule grants the right to list all Agents of a namespace.
func allowsList(rule rbacv1.PolicyRule) bool { return allows(rule, verbList, resourceAgents) }

// allowsPeer reports whether a rule grants the right of a peer, which is to read federated Agents.
func allowsPeer(rule rbacv1.PolicyRule) bool {
	return allows(rule, verbGet, resourceAgents+"/"+subresourceFederated) || allows(rule, verbGet, "*/"+subresourceFederated)
}

func allows(rule rbacv1.PolicyRule, verb, resource string) bool {
	has := func(values []string, wanted, all string) bool {
		return slices.Contains(values, wanted) || slices.Contains(values, all)
	}
	return has(rule.Verbs, verb, rbacv1.VerbAll) &&
		has(rule.APIGroups, a2av1alpha1.GroupVersion.Group, rbacv1.APIGroupAll) &&
		has(rule.Resources, resource, rbacv1.ResourceAll) &&
		len(rule.ResourceNames) == 0
}

// Watch registers b with the informers of the RBAC kinds. The returned channels are closed when b
// has received all objects of each kind.
func (b *Bindings) Watch(ctx context.Context, informers cache.Informers) ([]<-chan struct{}, error) {
	var synced []<-chan struct{}
	for _, object := range []client.Object{&rbacv1.Role{}, &rbacv1.ClusterRole{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRoleBinding{}} {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("get informer for %T: %w", object, err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    b.set,
			UpdateFunc: func(_, object any) { b.set(object) },
			DeleteFunc: b.remove,
		})
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", object, err)
		}
		synced = append(synced, registration.HasSyncedChecker().Done())
	}
	return synced, nil
}

func (b *Bindings) set(object any) {
	switch o := object.(type) {
	case *rbacv1.Role:
		b.setRole(client.ObjectKeyFromObject(o), o.Rules)
	case *rbacv1.ClusterRole:
		b.setRole(client.ObjectKeyFromObject(o), o.Rules)
	case *rbacv1.RoleBinding:
		b.setBinding(client.ObjectKeyFromObject(o), o.RoleRef, o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		b.setBinding(client.ObjectKeyFromObject(o), o.RoleRef, o.Subjects)
	}
}

func (b *Bindings) remove(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	switch o := object.(type) {
	case *rbacv1.Role, *rbacv1.ClusterRole:
		b.setRole(client.ObjectKeyFromObject(o.(client.Object)), nil)
	case *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		b.setBinding(client.ObjectKeyFromObject(o.(client.Object)), rbacv1.RoleRef{}, nil)
	}
}

const (
	// maxSubjects is the number of subjects of a binding that Bindings reads, and maxName the length
	// of the longest name of a subject or a role, in bytes. Other subjects get no right by the binding
	// in the registry. The bounds limit the memory that a user needs who may create bindings.
	maxSubjects = 128
	maxName     = 253
)

// Strip is a transform of an informer cache for the RBAC kinds. It keeps of each object its
// identity and the parts that Bindings reads: the rights that its rules grant, the role, and the
// first maxSubjects subjects.
func Strip(object any) (any, error) {
	switch o := object.(type) {
	case *rbacv1.Role:
		return &rbacv1.Role{ObjectMeta: identity(o), Rules: grantingRules(o.Rules)}, nil
	case *rbacv1.ClusterRole:
		return &rbacv1.ClusterRole{ObjectMeta: identity(o), Rules: grantingRules(o.Rules)}, nil
	case *rbacv1.RoleBinding:
		kept := &rbacv1.RoleBinding{ObjectMeta: identity(o)}
		kept.RoleRef, kept.Subjects = binds(o.RoleRef, o.Subjects)
		return kept, nil
	case *rbacv1.ClusterRoleBinding:
		kept := &rbacv1.ClusterRoleBinding{ObjectMeta: identity(o)}
		kept.RoleRef, kept.Subjects = binds(o.RoleRef, o.Subjects)
		return kept, nil
	default:
		return object, nil
	}
}

// binds returns the parts of a binding that Bindings reads.
func binds(ref rbacv1.RoleRef, all []rbacv1.Subject) (rbacv1.RoleRef, []rbacv1.Subject) {
	if len(ref.Name) > maxName || len(ref.Kind) > maxName {
		return rbacv1.RoleRef{}, nil
	}
	var subjects []rbacv1.Subject
	for i := range all {
		s := &all[i]
		if len(subjects) < maxSubjects && len(s.Name) <= maxName && len(s.Namespace) <= maxName && len(s.Kind) <= maxName {
			subjects = append(subjects, rbacv1.Subject{Kind: s.Kind, Name: s.Name, Namespace: s.Namespace})
		}
	}
	return rbacv1.RoleRef{Kind: ref.Kind, Name: ref.Name}, subjects
}

func identity(o client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
}

// grantingRules returns rules that grant the same rights as the given rules: one for each right.
func grantingRules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var granting []rbacv1.PolicyRule
	if slices.ContainsFunc(rules, allowsList) {
		granting = append(granting, rule(verbList, resourceAgents))
	}
	if slices.ContainsFunc(rules, allowsPeer) {
		granting = append(granting, rule(verbGet, resourceAgents+"/"+subresourceFederated))
	}
	return granting
}

func rule(verb, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{resource}}
}
