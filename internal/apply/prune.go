// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/applyresult"
)

// deletion replaces the digest in an attempt to delete an object.
const deletion = "deletion"

// Prune deletes an object that is no longer desired, if the owner controls the object.
// current is the cached object, nil for none. If the API server rejects the deletion, Prune
// adds the rejection to the result.
func Prune[C any, O interface {
	*C
	client.Object
}](ctx context.Context, a *Applier, owner Owner, current O, result *applyresult.Result) error {
	if current == nil || !current.GetDeletionTimestamp().IsZero() || !owner.controls(current) {
		return nil
	}
	object := existing[C](current)
	rejected, recheck, err := a.send(object, deletion, func() error {
		a.written.Drop(object.target)
		uid := current.GetUID()
		return client.IgnoreNotFound(a.config.Writer.Delete(ctx, current, client.Preconditions{UID: &uid}))
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", object, err)
	}
	if rejected != nil {
		result.NotDeleted = append(result.NotDeleted, *rejected)
		if recheck == 0 {
			recheck = rejectedFor
		}
		if result.RecheckAfter > 0 {
			recheck = min(recheck, result.RecheckAfter)
		}
		result.RecheckAfter = recheck
	}
	return nil
}
