// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"runtime"
	"strings"
	"testing"
)

// A user may write a configuration into the ConfigMap that needs much more memory when it
// is decoded. ReadPublished refuses it before it decodes it.
func TestReadPublishedNeedsLittleMemory(t *testing.T) {
	text := []byte(`{"version":"` + Version + `","card":{"name":"a","skills":[` + strings.Repeat("{},", 300_000) + `{}]}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadPublished(text, Agent{Namespace: "team", Name: "echo"})
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; err == nil || allocated > 1<<20 {
		t.Errorf("ReadPublished() = %v, and allocated %d bytes", err, allocated)
	}
}
