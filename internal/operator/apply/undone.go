// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
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

// checkPart reads an object that a write has not changed, and of whose content the cache has a part: a policy may change each write. It does so
// once in an hour for each content. The object is written again nevertheless, because the cache does not show the changes of others.
func (a *Applier) checkPart(ctx context.Context, owner Owner, object Object, digest string, sent map[string]any, result *state.Written) error {
	if a.config.Live == nil {
		return nil
	}
	content, err := contentOf(object, digest)
	if err != nil {
		return err
	}
	change, known := a.undone.Get(object.target, content)
	if !known {
		field, err := a.lostField(ctx, object, sent)
		if err != nil {
			return fmt.Errorf("read %s: %w", object, err)
		}
		change = state.Contest{Kind: object.kind(), Name: object.name, Field: field}
		a.undone.Put(object.target, content, change, a.config.Clock.Now().Add(undoneFor))
	}
	if change.Field != "" {
		a.reverted(owner.UID, change, false)
		result.Undone = true
	}
	return nil
}

// lostField returns the first field of a sent object that has another value in the API server, "" for none.
func (a *Applier) lostField(ctx context.Context, o Object, sent map[string]any) (field string, err error) {
	apiVersion, _ := sent["apiVersion"].(string)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, o.kind()+"List"))
	err = pagedlist.Each(ctx, a.config.Live, list, 1, func(found runtime.Object) {
		field = differingField("", sent, found.(*unstructured.Unstructured).Object)
	}, client.InNamespace(o.namespace), client.MatchingFields{"metadata.name": o.name})
	return field, err
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
