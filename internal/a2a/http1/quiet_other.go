// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package http1

// supported is false where a closed connection cannot be told without reading
// from it.
const supported = false

func (c *conn) quiet() bool { return false }
