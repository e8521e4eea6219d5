// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package attack

// raceEnabled is true in tests with the race detector.
const raceEnabled = true
