// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestSidecarHasTheMemoryLimitOfTheInstallation(t *testing.T) {
	agent, platform := readCase(t, "testdata/minimal/input.yaml").Agent, testPlatform
	if limits := sidecar(agent, platform).Resources.Limits; limits != nil {
		t.Errorf("limits without one of the installation = %v", limits)
	}
	platform.SidecarMemoryLimit = resource.MustParse("256Mi")
	container := sidecar(agent, platform)
	if got := container.Resources.Limits.Memory().Value(); got != 256<<20 || len(container.Resources.Limits) != 1 {
		t.Errorf("limits = %v", container.Resources.Limits)
	}
}
