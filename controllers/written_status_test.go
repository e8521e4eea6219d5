// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
)

// The storage of the API server is restored from a backup that has the version before a status
// write. The cache then shows this version, and the write is lost. The operator must not take the
// lost status for the current one, and must not apply the next status to the lost version.
func TestWrittenStatusEndsWithoutTheWrite(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	written := memo.NewWrites[types.UID, writtenStatus[string]](1, clock)
	written.Put("uid", newStatusWrite("100", metav1ac.ObjectMeta().WithResourceVersion("101"), "Ready"))
	last, ok := written.Pending("uid", "100")
	if !ok || last.status != "Ready" || last.version != "101" {
		t.Errorf("after the write, Pending() = %+v, %v, want the write", last, ok)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if last, ok := written.Pending("uid", "100"); ok {
		t.Errorf("a minute later, Pending() = %+v, want none", last)
	}
}
