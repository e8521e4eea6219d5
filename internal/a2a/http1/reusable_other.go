// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package http1

// platformSupported is false: a closed connection is noticed only by a read that blocks.
const platformSupported = false

func (c *conn) reusable() bool { return false }
