// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
)

// writtenStatus is a status that the operator has written.
type writtenStatus[S any] struct {
	status S
	// version is the resource version that the write made. The next write is an apply to this
	// version, so that it fails with a conflict if the object has changed, or if a new object
	// has the name. A UID in the apply would not prevent the second case: the API server
	// does not compare UIDs when a client applies a status. "" stands for any version.
	version string
}

// writtenStatusPendingFor is the maximum time for which reconciles use the status that the
// operator wrote last in place of the cached status. The time is bounded because a restore of the
// API server's storage from a backup loses the write, and the cache may then show the version
// before the write.
const writtenStatusPendingFor = time.Minute

// newStatusWrite returns the record of a status write. before is the version that the cache
// showed, and answer is the metadata in the API server's response.
func newStatusWrite[S any](before string, answer *metav1ac.ObjectMetaApplyConfiguration, status S) memo.Write[writtenStatus[S]] {
	after := ""
	if answer != nil {
		after = ptr.Deref(answer.ResourceVersion, "")
	}
	return memo.Write[writtenStatus[S]]{
		Before: before, After: after, Value: writtenStatus[S]{status, after}, PendingFor: writtenStatusPendingFor,
	}
}
