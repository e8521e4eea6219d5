// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// remoteAgent returns the desired state of a remote agent: a ConfigMap with its card,
// from which the registry of every replica reads the card. Objects is nil while no card
// is known.
func remoteAgent(in clusterstate.Agent) (Result, error) {
	if in.Remote == nil || in.Remote.Card == nil {
		return Result{}, nil
	}
	published := in.Remote.Card
	if published.TooLarge {
		return Result{Problems: []usererror.Problem{skillProblem(a2av1alpha1.ReasonCardTooLarge,
			"the card of the agent needs more than %d KiB; shorten it at its origin", sidecarconfig.MaxSize>>10)}}, nil
	}
	digest := sidecarconfig.Digest([]byte(published.Text))
	return Result{
		Objects: &Objects{
			ConfigMap: corev1ac.ConfigMap(names.ConfigMap(in.Agent.Name), in.Agent.Namespace).
				WithLabels(names.Labels(in.Agent.Name)).
				WithAnnotations(map[string]string{a2av1alpha1.AnnotationConfigDigest: digest}).
				WithData(map[string]string{sidecarconfig.CardFileName: published.Text}),
		},
		Remarks: omittedRemarks(in.Remote),
		Card: Publication{
			URL:          in.Agent.Spec.Remote.URL,
			CardDigest:   published.Digest,
			ConfigDigest: digest,
			Skills:       published.Skills,
		},
	}, nil
}

func omittedRemarks(remote *clusterstate.Remote) []usererror.Problem {
	if remote.OmittedAddresses == 0 {
		return nil
	}
	return []usererror.Problem{{
		Condition: a2av1alpha1.ConditionAvailable,
		Reason:    a2av1alpha1.ReasonAddressesOmitted,
		Message: fmt.Sprintf("The agent serves its card; the registry omits %d of the addresses on it, "+
			"because they are not at the origin of spec.remote.url", remote.OmittedAddresses),
	}}
}
