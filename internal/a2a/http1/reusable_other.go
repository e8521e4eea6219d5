// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package http1

// platformSupported is false, because only a read that blocks would detect a closed
// connection.
const platformSupported = false

func (c *conn) reusable() bool { return false }
