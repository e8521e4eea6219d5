// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// went reports whether a log went on with these events, whose append was not
// answered. Whatever follows them is somebody else's.
func went(records []*a2a.Record, events []a2a.Event) bool {
	if len(records) < len(events) {
		return false
	}
	for i := range events {
		if !same(&records[i].Event, &events[i]) {
			return false
		}
	}
	return true
}

// same reports whether an event that was read is one that was written here. Two
// appends that are in doubt at the same place differ in more than this: one of
// them begins a turn, ends one, or is another replica's.
func same(read, written *a2a.Event) bool {
	switch {
	case written.Message != nil:
		return read.Message != nil && read.Message.ID == written.Message.ID
	case written.Status != nil:
		return read.Status != nil && read.Status.Status.State == written.Status.Status.State &&
			read.Status.Status.Time.Equal(written.Status.Status.Time)
	case written.Artifact != nil:
		return read.Artifact != nil && read.Artifact.Artifact.ID == written.Artifact.Artifact.ID &&
			read.Artifact.Append == written.Artifact.Append && read.Artifact.Artifact.Size() == written.Artifact.Artifact.Size()
	default:
		return false
	}
}
