// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scale writes only the number of replicas of a Deployment. The apply configuration has
// the Deployment's UID. fieldOwner is a separate field manager: if the manager of the
// whole object applied only this field, the API server would remove all other fields.
func (a *Applier) Scale(ctx context.Context, replicas *appsv1ac.DeploymentApplyConfiguration, fieldOwner string) error {
	key := client.ObjectKey{Namespace: *replicas.GetNamespace(), Name: *replicas.GetName()}
	if err := a.config.Writer.Apply(ctx, replicas, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("scale Deployment %s: %w", key, err)
	}
	return nil
}
