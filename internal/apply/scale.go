// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scale writes the number of pods of a Deployment, named with its UID, and
// nothing else. The field gets an owner of its own: under that of the whole
// object, an apply of this one field would give up all the others.
func (a *Applier) Scale(ctx context.Context, number *appsv1ac.DeploymentApplyConfiguration, fieldOwner string) error {
	key := client.ObjectKey{Namespace: *number.GetNamespace(), Name: *number.GetName()}
	if err := a.config.Writer.Apply(ctx, number, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("scale Deployment %s: %w", key, err)
	}
	return nil
}
