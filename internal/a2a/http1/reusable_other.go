// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package http1

// platformSupported is false, because on this system only a read that blocks would detect
// that the server closed a connection.
const platformSupported = false

func (c *conn) reusable() bool { return false }
