// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxParts bounds the pool of the parts that many Agents share. Agents of the same kind
	// share some dozens of parts.
	maxParts = 4 << 10
	// maxPart is the size, in bytes, of the largest part that Agents share. The pod spec of an
	// Agent without a template of its own is smaller.
	maxPart = 8 << 10
	// maxOwnerMetadata bounds the pool of labels and owner references, which the objects of
	// one Agent share. It has room for two entries for each of the last eight thousand Agents.
	maxOwnerMetadata = 16 << 10
	// maxOwnerPart is the size, in bytes, of the largest labels or owner references that the
	// objects of an Agent share.
	maxOwnerPart = 1 << 10
	// maxPoolBytes bounds the content of a half of each pool, in bytes. Without this bound, the pools
	// would hold 100 MiB of texts of deleted objects.
	maxPoolBytes = 8 << 20
)

// interner stores equal parts of cached objects once.
type interner struct{ parts, ownerMetadata *Pool }

func newInterner() interner {
	return interner{parts: NewPool(maxParts, maxPart, maxPoolBytes), ownerMetadata: NewPool(maxOwnerMetadata, maxOwnerPart, maxPoolBytes)}
}

// after returns a transform that interns the result of the transform strip. An informer that
// fills its cache transforms each object twice. The second time, the object has no managed
// fields any more, and strip finds nothing to remove. after then returns the object itself, whose
// parts are interned.
func (i interner) after(strip toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		object, ok := obj.(client.Object)
		first := ok && len(object.GetManagedFields()) > 0
		kept, err := strip(obj)
		if err != nil {
			return nil, err
		}
		if !first && reflect.DeepEqual(kept, obj) {
			return obj, nil
		}
		if object, ok := kept.(client.Object); ok && first && len(object.GetManagedFields()) == 0 {
			i.intern(object)
		}
		return kept, nil
	}
}

// intern interns an object. The labels and owner references of an Agent's objects have a
// separate pool, because the caches receive the objects of one Agent at different times, with
// the parts of many other Agents in between.
func (i interner) intern(object client.Object) {
	if !controlledByAgent(object) {
		i.parts.Intern(object)
		return
	}
	metadata := &struct {
		Labels map[string]string
		Owners []metav1.OwnerReference
	}{object.GetLabels(), object.GetOwnerReferences()}
	object.SetLabels(nil)
	object.SetOwnerReferences(nil)
	i.parts.Intern(object)
	i.ownerMetadata.Intern(metadata)
	object.SetLabels(metadata.Labels)
	object.SetOwnerReferences(metadata.Owners)
}
