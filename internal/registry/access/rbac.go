// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watch registers b with the informers of the RBAC kinds. The returned channels are closed
// when b has all objects.
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
	case *rbacv1.Role:
		b.setRole(client.ObjectKeyFromObject(o), nil)
	case *rbacv1.ClusterRole:
		b.setRole(client.ObjectKeyFromObject(o), nil)
	case *rbacv1.RoleBinding:
		b.setBinding(client.ObjectKeyFromObject(o), o.RoleRef, nil)
	case *rbacv1.ClusterRoleBinding:
		b.setBinding(client.ObjectKeyFromObject(o), o.RoleRef, nil)
	}
}

// Strip is a transform of an informer cache for the RBAC kinds. It removes all but the
// parts that Bindings reads: the rules that grant a right, the roles and the subjects.
func Strip(object any) (any, error) {
	switch o := object.(type) {
	case *rbacv1.Role:
		return &rbacv1.Role{ObjectMeta: identity(o), Rules: grantingRules(o.Rules)}, nil
	case *rbacv1.ClusterRole:
		return &rbacv1.ClusterRole{ObjectMeta: identity(o), Rules: grantingRules(o.Rules)}, nil
	case *rbacv1.RoleBinding:
		return &rbacv1.RoleBinding{ObjectMeta: identity(o), RoleRef: o.RoleRef, Subjects: o.Subjects}, nil
	case *rbacv1.ClusterRoleBinding:
		return &rbacv1.ClusterRoleBinding{ObjectMeta: identity(o), RoleRef: o.RoleRef, Subjects: o.Subjects}, nil
	default:
		return object, nil
	}
}

func identity(o client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
}

// grantingRules returns rules that grant the same rights: one at most for each right.
func grantingRules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var granting []rbacv1.PolicyRule
	for _, allows := range []func(rbacv1.PolicyRule) bool{allowsList, allowsPeer} {
		if i := slices.IndexFunc(rules, allows); i >= 0 && !slices.ContainsFunc(granting, allows) {
			granting = append(granting, rules[i])
		}
	}
	return granting
}
