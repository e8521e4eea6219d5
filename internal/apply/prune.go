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
// under the same name stays.
func Prune[C any, O interface {
	*C
	client.Object
}](ctx context.Context, a *Applier, owner Owner, current O) error {
	if current == nil || !current.GetDeletionTimestamp().IsZero() {
		return nil
	}
	controller := metav1.GetControllerOfNoCopy(current)
	if controller == nil || controller.UID != owner.UID {
		return nil
	}
	a.written.forget(target{reflect.TypeFor[C](), current.GetNamespace(), current.GetName()})
	uid := current.GetUID()
	err := a.config.Writer.Delete(ctx, current, client.Preconditions{UID: &uid})
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("delete %T %s/%s: %w", current, current.GetNamespace(), current.GetName(), err)
	}
	return nil
}
