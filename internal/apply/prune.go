// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Prune deletes an object that is no longer desired, if the owner controls it;
// current is what the cache holds, nil for none. An object of somebody else's
// under the same name stays. One that the API server does not let go is a value
// of the outcome, like what it refuses to take.
func Prune[C any, O interface {
	*C
	client.Object
}](ctx context.Context, a *Applier, owner Owner, current O, outcome *Outcome) error {
	if current == nil || !current.GetDeletionTimestamp().IsZero() {
		return nil
	}
	controller := metav1.GetControllerOfNoCopy(current)
	if controller == nil || controller.UID != owner.UID {
		return nil
	}
	kind := reflect.TypeFor[C]()
	object := Object{
		kind: kind.Name(), namespace: current.GetNamespace(), name: current.GetName(),
		target: target{kind, current.GetNamespace(), current.GetName()}, current: current,
	}
	refused := a.refused.of(object, deletion)
	if refused == nil {
		a.written.forget(object.target)
		uid := current.GetUID()
		err := a.config.Writer.Delete(ctx, current, client.Preconditions{UID: &uid})
		if rejection := rejectionOf(object, err); rejection != nil {
			refused = a.refused.remember(object, deletion, *rejection)
		} else if err := client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("delete %s %s/%s: %w", object.kind, object.namespace, object.name, err)
		}
	}
	if refused != nil {
		outcome.Kept = append(outcome.Kept, refused.rejection)
		again := refused.until.Sub(a.config.Clock.Now())
		if outcome.RecheckAfter > 0 {
			again = min(again, outcome.RecheckAfter)
		}
		outcome.RecheckAfter = again
	}
	return nil
}

// deletion stands for the digest of what is not desired.
const deletion = "deletion"
