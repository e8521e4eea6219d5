// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Configuration is a generated apply configuration.
type Configuration[T any] interface {
	runtime.ApplyConfiguration
	Named
	Stamped[T]
}

// Named is the part of an apply configuration that identifies its object.
type Named interface {
	GetNamespace() *string
	GetName() *string
}

// Stamped is the part of an apply configuration that the Applier sets.
type Stamped[T any] interface {
	WithUID(uid types.UID) T
	WithResourceVersion(version string) T
	WithAnnotations(annotations map[string]string) T
	WithOwnerReferences(references ...*metav1ac.OwnerReferenceApplyConfiguration) T
}

// Object is an apply configuration and the cached object of the same name.
type Object struct {
	target

	desired runtime.ApplyConfiguration
	current client.Object // nil if the cache has none

	setOwner           func(*metav1ac.OwnerReferenceApplyConfiguration)
	setAnnotations     func(map[string]string)
	setUID             func(types.UID)
	setResourceVersion func(string)
}

// target identifies an object by its Go type, namespace and name.
type target struct {
	goType          reflect.Type
	namespace, name string
}

// kind returns the Kubernetes kind. For every kind that the operator applies, it is the
// name of the Go type.
func (t target) kind() string { return t.goType.Name() }

// String returns "Kind namespace/name", for errors.
func (t target) String() string { return t.kind() + " " + t.namespace + "/" + t.name }

// Of pairs an apply configuration with the cached object of the same name. current is nil
// if the cache has no such object.
func Of[T Configuration[T], C any, O interface {
	*C
	client.Object
}](desired T, current O) Object {
	object := Object{
		target:             target{reflect.TypeFor[C](), *desired.GetNamespace(), *desired.GetName()},
		desired:            desired,
		setOwner:           func(r *metav1ac.OwnerReferenceApplyConfiguration) { desired.WithOwnerReferences(r) },
		setAnnotations:     func(annotations map[string]string) { desired.WithAnnotations(annotations) },
		setUID:             func(uid types.UID) { desired.WithUID(uid) },
		setResourceVersion: func(version string) { desired.WithResourceVersion(version) },
	}
	if current != nil {
		object.current = current
	}
	return object
}

// existing returns an Object without a desired state.
func existing[C any, O interface {
	*C
	client.Object
}](current O) Object {
	return Object{target: target{reflect.TypeFor[C](), current.GetNamespace(), current.GetName()}, current: current}
}

// currentVersion returns the resource version of the cached object, or "" if the cache
// has none.
func (o Object) currentVersion() string {
	if o.current == nil {
		return ""
	}
	return o.current.GetResourceVersion()
}

// digest returns a digest of the content of an apply configuration: 16 hexadecimal digits
// of the SHA-256 of its JSON. A changed digest shows that a field is no longer desired. A
// comparison with the object could not show this.
func digest(desired runtime.ApplyConfiguration) (string, error) {
	line := lineHash{sha256.New()}
	if err := json.NewEncoder(line).Encode(desired); err != nil {
		return "", err
	}
	return hex.EncodeToString(line.sum.Sum(nil)[:8]), nil
}

// lineHash hashes the line that an encoder writes in one call, without the newline at its
// end. It does not copy the line.
type lineHash struct{ sum hash.Hash }

func (d lineHash) Write(line []byte) (int, error) {
	_, _ = d.sum.Write(bytes.TrimSuffix(line, []byte("\n")))
	return len(line), nil
}

// identityOf returns the resource version and the UID of the object in the API server's
// response to an apply.
func identityOf(answer runtime.ApplyConfiguration) (version string, uid types.UID, err error) {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return "", "", err
	}
	var object struct {
		Metadata struct {
			ResourceVersion string    `json:"resourceVersion"`
			UID             types.UID `json:"uid"`
		} `json:"metadata"`
	}
	err = json.Unmarshal(encoded, &object)
	return object.Metadata.ResourceVersion, object.Metadata.UID, err
}
