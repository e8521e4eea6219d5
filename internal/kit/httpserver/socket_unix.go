// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package httpserver

import (
	"net"
	"syscall"
)

// hasUnread reports whether the client has sent bytes that the server has not read yet. It does not wait.
func hasUnread(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}

// sendAtOnce sends as many bytes as the socket has room for. It does not wait.
func sendAtOnce(c net.Conn, p []byte) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = syscall.Write(int(fd), p) })
}
