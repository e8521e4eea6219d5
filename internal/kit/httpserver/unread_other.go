// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package httpserver

import "net"

// hasUnread returns false: on other systems, no program of this repository serves clients of other machines.
func hasUnread(net.Conn) bool { return false }
