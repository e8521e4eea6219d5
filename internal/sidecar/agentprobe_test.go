// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import "testing"

func TestBackendAddress(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:9000": "127.0.0.1:9000", "http://127.0.0.1:9000/a/b": "127.0.0.1:9000",
		"http://agent": "agent:80", "http://[::1]:1/x": "[::1]:1", "http://[::1]/": "[::1]:80",
	} {
		if got := dialAddress(url); got != want {
			t.Errorf("dialAddress(%s) = %s, want %s", url, got, want)
		}
	}
}
