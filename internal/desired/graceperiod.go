// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// defaultGracePeriodSeconds lets turns of up to a minute end after a pod begins to stop.
const defaultGracePeriodSeconds = 60

// gracePeriod returns the termination grace period of the pods, at most one day, because
// a longer period may overflow a time.Duration.
func gracePeriod(agent *a2av1alpha1.Agent) time.Duration {
	const most = 24 * 60 * 60
	seconds := int64(defaultGracePeriodSeconds)
	if s := agent.Spec.Workload.Template.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = min(*s, most)
	}
	return time.Duration(seconds) * time.Second
}
