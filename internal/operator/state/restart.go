// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "time"

// RestartAge is the time between two looks at the objects of spec.workload.restartOn.
const RestartAge = time.Minute

// RestartObject is an object of spec.workload.restartOn.
type RestartObject struct {
	// Version is the resource version. It is "" if the object does not exist or cannot be read.
	Version string
	// Forbidden is true if the operator may not read the object. Failed is true if the read failed for another reason.
	Forbidden bool
	Failed    bool
}
