// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// digest names the content of an apply configuration. It changes when a field
// is no longer desired, which a comparison with the object cannot see.
func digest(desired runtime.ApplyConfiguration) (string, error) {
	encoded, err := json.Marshal(desired)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8]), nil
}

// converged tells whether every desired field stands in the current object.
// Fields that are not desired are others' business.
func converged(desired runtime.ApplyConfiguration, current client.Object) (bool, error) {
	want, err := fields(desired)
	if err != nil {
		return false, err
	}
	have, err := fields(current)
	if err != nil {
		return false, err
	}
	// A typed object from a client does not say what it is.
	delete(want, "kind")
	delete(want, "apiVersion")
	return contains(have, want), nil
}

// identityOf are the version and the UID of the object that the API server has
// answered an apply with.
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

// fields is the JSON form of a value.
func fields(value any) (map[string]any, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var decoded map[string]any
	return decoded, json.Unmarshal(encoded, &decoded)
}

// contains tells whether all of want stands in have.
func contains(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range w {
			if !contains(h[key], value) {
				return false
			}
		}
		return true
	case []any:
		h, _ := have.([]any)
		return containsList(h, w)
	default:
		return reflect.DeepEqual(have, want)
	}
}

// containsList matches the elements of an associative list by their keys, as
// server-side apply does, so that others may have added some. Any other list
// must be of the same length and order.
func containsList(have, want []any) bool {
	keys := mergeKeys(want)
	if keys == nil {
		if len(have) != len(want) {
			return false
		}
		for i := range want {
			if !contains(have[i], want[i]) {
				return false
			}
		}
		return true
	}
	for _, w := range want {
		// Some lists have a name in their elements and may repeat it, such as
		// httpHeaders, so the first of that name is not the only one to ask.
		found := slices.ContainsFunc(have, func(h any) bool { return sameKeys(h, w, keys) && contains(h, w) })
		if !found {
			return false
		}
	}
	return true
}

// mergeKeyCandidates are the keys of the associative lists in the kinds that
// are applied, each before those that it makes ambiguous.
var mergeKeyCandidates = [][]string{
	{"uid"},                              // metadata.ownerReferences
	{"mountPath"},                        // volumeMounts
	{"devicePath"},                       // volumeDevices
	{"containerPort", "protocol"},        // ports of a container
	{"port", "protocol"},                 // ports of a Service
	{"topologyKey", "whenUnsatisfiable"}, // topologySpreadConstraints
	{"ip"},                               // hostAliases
	{"name"},                             // containers, env, volumes
}

// mergeKeys are the keys by which the elements of a list are told apart, and
// nil for a list that is taken as a whole.
func mergeKeys(list []any) []string {
	for _, keys := range mergeKeyCandidates {
		if allHave(list, keys) {
			return keys
		}
	}
	return nil
}

func allHave(list []any, keys []string) bool {
	for _, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			return false
		}
		for _, key := range keys {
			if _, ok := object[key]; !ok {
				return false
			}
		}
	}
	return len(list) > 0
}

func sameKeys(a, b any, keys []string) bool {
	x, ok := a.(map[string]any)
	if !ok {
		return false
	}
	y, ok := b.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range keys {
		if !reflect.DeepEqual(x[key], y[key]) {
			return false
		}
	}
	return true
}
