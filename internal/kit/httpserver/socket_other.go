// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package httpserver

import "net"

// On other systems, no program of this repository serves clients of other machines.

// hasUnread returns false.
func hasUnread(net.Conn) bool { return false }

// sendAtOnce sends nothing.
func sendAtOnce(net.Conn, []byte) {}
