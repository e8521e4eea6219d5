// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"

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
	WithResourceVersion(version string) T
	WithAnnotations(annotations map[string]string) T
	WithOwnerReferences(references ...*metav1ac.OwnerReferenceApplyConfiguration) T
}

// Object is an apply configuration, and what the cache holds under its name.
type Object struct {
	kind, namespace, name string

	target  target
	desired runtime.ApplyConfiguration
	current client.Object

	own      func(*metav1ac.OwnerReferenceApplyConfiguration)
	annotate func(map[string]string)
	identify func(types.UID)
	version  func(string)
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
		target:    target{reflect.TypeFor[C](), *desired.GetNamespace(), *desired.GetName()},
		desired:   desired,
		own:       func(r *metav1ac.OwnerReferenceApplyConfiguration) { desired.WithOwnerReferences(r) },
		annotate:  func(annotations map[string]string) { desired.WithAnnotations(annotations) },
		identify:  func(uid types.UID) { desired.WithUID(uid) },
		version:   func(version string) { desired.WithResourceVersion(version) },
	}
	if current != nil {
		object.current = current
	}
	return object
}

// currentVersion is that of what the cache holds, "" for nothing.
func (o Object) currentVersion() string {
	if o.current == nil {
		return ""
	}
	return o.current.GetResourceVersion()
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
