// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/memo"
)

// Scale writes only the number of replicas of the cached Deployment current, unless the
// cache does not show the same write yet. The apply configuration has the Deployment's UID.
// fieldOwner is a separate field manager: if the manager of the whole object applied only
// this field, the API server would remove all other fields.
func (a *Applier) Scale(ctx context.Context, current *appsv1.Deployment, replicas *appsv1ac.DeploymentApplyConfiguration, fieldOwner string) error {
	wanted, before := *replicas.Spec.Replicas, current.ResourceVersion
	if sent, pending := a.scaled.Pending(current.UID, before); pending && sent == wanted {
		return nil
	}
	if err := a.config.Writer.Apply(ctx, replicas, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("scale Deployment %s: %w", client.ObjectKeyFromObject(current), err)
	}
	version, _, err := identityOf(replicas)
	if err != nil {
		return fmt.Errorf("read answer about Deployment %s: %w", client.ObjectKeyFromObject(current), err)
	}
	if version != before { // otherwise an admission webhook has undone the change
		a.scaled.Put(current.UID, memo.Write[int32]{Before: before, After: version, Value: wanted})
	}
	return nil
}
