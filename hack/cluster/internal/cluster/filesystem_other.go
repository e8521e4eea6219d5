// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// On other systems this module only builds the binaries for the tests.

func snapshotter(state.Dir) (string, error) { return "", errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
