// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// instructions returns the version of the ConfigMap of spec.model.instructionsFrom, or nil if the spec names none or the
// ConfigMap does not exist.
func (g *Gatherer) instructions(ctx context.Context, agent *a2av1alpha1.Agent) (*state.Instructions, error) {
	if agent.Spec.Model == nil || agent.Spec.Model.InstructionsFrom == nil {
		return nil, nil
	}
	configMap, err := Read[corev1.ConfigMap](ctx, g.Reader, agent.Namespace, agent.Spec.Model.InstructionsFrom.Name)
	if err != nil || configMap == nil {
		return nil, err
	}
	return &state.Instructions{UID: configMap.UID, Version: configMap.ResourceVersion}, nil
}

// ReadInstructions reads the text of spec.model.instructionsFrom from the API server: the caches do not keep it.
func (g *Gatherer) ReadInstructions(ctx context.Context, in *state.Agent) error {
	if in.Instructions == nil {
		return nil
	}
	from := in.Agent.Spec.Model.InstructionsFrom
	read := *in.Instructions
	read.Text = ""
	err := g.liveConfigMap(ctx, types.NamespacedName{Namespace: in.Agent.Namespace, Name: from.Name}, func(found *corev1.ConfigMap) {
		read.Text = string(valueOf(found, from.Key))
	})
	if err != nil {
		return err
	}
	in.Instructions = &read
	return nil
}
