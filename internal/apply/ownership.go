// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conflicts are the objects that belong to somebody else, and whether there are
// orphans beside: these are taken back (docs/adr/0023-orphans-are-taken-back.md),
// but not by an owner that is leaving them behind at this moment. Given back to
// it, they would be deleted after it.
func (a *Applier) conflicts(owner Owner, objects []Object) (foreign []Conflict, orphans bool) {
	for _, object := range objects {
		conflict := object.conflict(owner)
		switch {
		case conflict == nil:
		case a.orphan(object, owner):
			orphans = true
		default:
			foreign = append(foreign, *conflict)
		}
	}
	return foreign, orphans
}

// orphan tells of an object that was made here for an owner of the same name,
// and that nobody controls any more.
func (a *Applier) orphan(object Object, owner Owner) bool {
	current := object.current
	if metav1.GetControllerOfNoCopy(current) != nil || !current.GetDeletionTimestamp().IsZero() ||
		current.GetLabels()[a.config.OwnerLabel] != owner.Name {
		return false
	}
	return slices.ContainsFunc(current.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == a.config.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// misses tells of an object that was there and is not: it may have gone with its
// owner (docs/adr/0024-nothing-for-a-deleted-agent.md).
func (a *Applier) misses(owner Owner, objects []Object) bool {
	return slices.ContainsFunc(objects, func(o Object) bool {
		if o.current != nil {
			return false
		}
		return a.written.lost(o, owner.UID) || owner.Programmed && a.written.of(o).digest == ""
	})
}
