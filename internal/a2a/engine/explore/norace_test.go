// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package explore

// defaultLimit is the number of calls that may deviate from the default schedule unless
// A2A_EXPLORE is set.
const defaultLimit = 2
