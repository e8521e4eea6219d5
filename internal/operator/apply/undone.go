// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// undoneFor is how long the Applier does not repeat a write whose values an admission webhook or a policy changed. Their
// removal causes no event.
const undoneFor = time.Hour

// isUndone reports whether an earlier write of the same content left the object as it is now, because others change what
// the Applier writes. The field stays contested.
func (a *Applier) isUndone(owner Owner, object Object, digest string) (bool, error) {
	content, err := contentOf(object, digest)
	if err != nil {
		return false, err
	}
	change, known := a.undone.Get(object.target, content)
	if known {
		a.reverted(owner.UID, change, false)
	}
	return known, nil
}

// putUndone records that a write left the object as it was.
func (a *Applier) putUndone(object Object, digest string, change state.Contest) error {
	content, err := contentOf(object, digest)
	if err == nil {
		a.undone.Put(object.target, content, change, a.config.Clock.Now().Add(undoneFor))
	}
	return err
}

// contentOf returns a digest of the desired content of an object and of its current content, without its status and
// what changes with each write.
func contentOf(object Object, desired string) (string, error) {
	content, err := members(object.current)
	if err != nil {
		return "", fmt.Errorf("compare %s: %w", object, err)
	}
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, volatile := range []string{"resourceVersion", "managedFields"} {
			delete(metadata, volatile)
		}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", object, err)
	}
	sum := sha256.Sum256(append(text, desired...))
	return hex.EncodeToString(sum[:]), nil
}
