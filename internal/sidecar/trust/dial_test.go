// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "testing"

func TestHostNamesAreFullyQualified(t *testing.T) {
	for address, want := range map[string]string{
		"echo.team.svc.cluster.local:80":  "echo.team.svc.cluster.local.:80",
		"echo.team.svc.cluster.local.:80": "echo.team.svc.cluster.local.:80",
		"registry.a2a-system.svc:80":      "registry.a2a-system.svc:80",
		"localhost:80":                    "localhost:80",
		"127.0.0.1:80":                    "127.0.0.1:80",
		"[::1]:80":                        "[::1]:80",
	} {
		if got := absolute(address); got != want {
			t.Errorf("absolute(%q) = %q, want %q", address, got, want)
		}
	}
}
