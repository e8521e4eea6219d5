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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// digest names the content of an apply configuration. It changes when a field
// is no longer desired, which a comparison with the object cannot see.
func digest(desired runtime.ApplyConfiguration) (string, error) {
	line := digestOfLine{sha256.New()}
	if err := json.NewEncoder(line).Encode(desired); err != nil {
		return "", err
	}
	return hex.EncodeToString(line.sum.Sum(nil)[:8]), nil
}

// digestOfLine sums up what an encoder writes, which does so once, but for the
// end of the line. So nobody makes a copy of it.
type digestOfLine struct{ sum hash.Hash }

func (d digestOfLine) Write(line []byte) (int, error) {
	_, _ = d.sum.Write(bytes.TrimSuffix(line, []byte("\n")))
	return len(line), nil
}

// converged tells whether every desired field stands in the current object.
// Fields that are not desired are others' business.
func converged(desired runtime.ApplyConfiguration, current client.Object) bool {
	return contains(reflect.ValueOf(current), reflect.ValueOf(desired))
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
