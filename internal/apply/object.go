// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Configuration is a generated apply configuration of some kind.
type Configuration[T any] interface {
	runtime.ApplyConfiguration
	Named
	Stamped[T]
}

// Named is what every apply configuration knows of itself.
type Named interface {
	GetKind() *string
	GetNamespace() *string
	GetName() *string
}

// Stamped is what the Applier adds to an apply configuration.
type Stamped[T any] interface {
	WithUID(uid types.UID) T
	WithAnnotations(annotations map[string]string) T
	WithOwnerReferences(references ...*metav1ac.OwnerReferenceApplyConfiguration) T
}

// Object is an apply configuration, and what the cache holds under its name.
type Object struct {
	kind, namespace, name string

	desired runtime.ApplyConfiguration
	current client.Object
	// empty makes an object to read into.
	empty func() client.Object

	own      func(*metav1ac.OwnerReferenceApplyConfiguration)
	annotate func(map[string]string)
	identify func(types.UID)
}

// Of pairs an apply configuration with the object that the cache holds, nil
// for none.
func Of[T Configuration[T], C any, O interface {
	*C
	client.Object
}](desired T, current O) Object {
	object := Object{
		kind:      *desired.GetKind(),
		namespace: *desired.GetNamespace(),
		name:      *desired.GetName(),
		desired:   desired,
		empty:     func() client.Object { return O(new(C)) },
		own:       func(r *metav1ac.OwnerReferenceApplyConfiguration) { desired.WithOwnerReferences(r) },
		annotate:  func(annotations map[string]string) { desired.WithAnnotations(annotations) },
		identify:  func(uid types.UID) { desired.WithUID(uid) },
	}
	if current != nil {
		object.current = current
	}
	return object
}

// conflict is nil when there is no object of the name or the owner controls it.
func (o Object) conflict(owner Owner) *Conflict {
	if o.current == nil {
		return nil
	}
	controller := metav1.GetControllerOfNoCopy(o.current)
	if controller != nil && controller.UID == owner.UID {
		return nil
	}
	former := controller != nil && controller.Kind == owner.Kind.Kind &&
		controller.APIVersion == owner.Kind.GroupVersion().String() && controller.Name == owner.Name
	return &Conflict{Kind: o.kind, Name: o.name, Former: former}
}
