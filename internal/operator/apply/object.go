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
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is an apply configuration and the cached object of the same name.
type Object struct {
	target
	desired runtime.ApplyConfiguration
	current client.Object // nil if the cache has none
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
func Of[C any, O interface {
	*C
	client.Object
}](desired runtime.ApplyConfiguration, current O) Object {
	meta := metadataOf(desired)
	object := Object{target: target{reflect.TypeFor[C](), *meta.Namespace, *meta.Name}, desired: desired}
	if current != nil {
		object.current = current
	}
	return object
}

// existing returns an Object without a desired state.
func existing(current client.Object) Object {
	return Object{target: target{reflect.TypeOf(current).Elem(), current.GetNamespace(), current.GetName()}, current: current}
}

// metadataOf returns the metadata of an apply configuration. All generated apply configurations of
// objects embed it.
func metadataOf(config runtime.ApplyConfiguration) *metav1ac.ObjectMetaApplyConfiguration {
	return reflect.ValueOf(config).Elem().FieldByName("ObjectMetaApplyConfiguration").Interface().(*metav1ac.ObjectMetaApplyConfiguration)
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
// of the SHA-256 of its JSON. The digest also changes when a field is no longer desired.
// The comparison of fields (inSync) cannot find this change, because it ignores fields that
// are not desired.
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
