// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

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
