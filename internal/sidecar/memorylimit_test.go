// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

func TestMemoryLimitOfTheProcess(t *testing.T) {
	before := debug.SetMemoryLimit(90 << 20)
	defer debug.SetMemoryLimit(before)
	for name, test := range map[string]struct {
		container   uint64
		failure     error
		environment string
		want        int64
	}{
		"of the container":                {container: 128 << 20, want: 128 << 20},
		"without a limit":                 {container: 1<<63 - 4096, want: memoryshare.Default},
		"without a cgroup":                {failure: errors.New("no cgroup"), want: memoryshare.Default},
		"of GOMEMLIMIT":                   {failure: errors.New("no cgroup"), environment: "90MiB", want: 100 << 20},
		"of GOMEMLIMIT in a larger one":   {container: 128 << 20, environment: "90MiB", want: 100 << 20},
		"of a container below GOMEMLIMIT": {container: 64 << 20, environment: "90MiB", want: 64 << 20},
	} {
		got := memoryLimit(func() (uint64, error) { return test.container, test.failure }, func(string) string { return test.environment })
		if got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
