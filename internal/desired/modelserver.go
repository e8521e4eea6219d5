// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// modelServerProblems returns a problem if the URL of the model server leads to the pod
// of the sidecar. The CEL rule of the field rejects the usual spellings of loopback, but
// not all, such as "localhost." and "[::ffff:127.0.0.1]".
func modelServerProblems(agent *a2av1alpha1.Agent) []usererror.Problem {
	url := externalModelServer(agent)
	backend := sidecarconfig.Backend{Protocol: backendProtocol(agent), URL: url}
	if url == "" || backend.External() {
		return nil
	}
	return []usererror.Problem{{
		Condition: a2av1alpha1.ConditionAccepted,
		Reason:    a2av1alpha1.ReasonInvalidModelServerURL,
		Message: fmt.Sprintf("spec.workload.backend.chat.url is %q, which is a loopback address, that is, the pod of the sidecar; "+
			"set the address of a model server outside of the pod, or remove url and add the model server to spec.workload.template", url),
	}}
}
