// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// reportUsage reports the usage in the metadata of a status or of a message.
func (r *run) reportUsage(metadata a2a.Object) {
	if usage, ok := backend.UsageIn(metadata); ok && r.turn.ReportUsage != nil {
		r.turn.ReportUsage(usage)
	}
}

// reportTaskUsage reports the usage in the metadata of a whole task, unless it equals the
// usage of the former turn. A2A servers merge the metadata of statuses into the task, so
// the task has the former usage until the agent reports another one.
func (r *run) reportTaskUsage(t *a2a.Task) {
	if r.turn.Task != nil {
		usage, ok := backend.UsageIn(t.Metadata)
		if former, known := backend.UsageIn(r.turn.Task.Metadata); ok && known && usage == former {
			return
		}
	}
	r.reportUsage(t.Metadata)
}
