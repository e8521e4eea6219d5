//go:build !linux

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gctuning

// unmapProgram does nothing, because other systems are for development only.
func unmapProgram() {}
