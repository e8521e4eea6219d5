// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package http1

import (
	"errors"
	"syscall"
)

// platformSupported is true on systems on which reusable can detect that the server closed
// a connection.
const platformSupported = true

// reusable reports whether an idle connection is open and has no bytes to read: its server
// has neither closed it nor sent bytes without a request. It does not block, because Go's
// sockets are non-blocking.
func (c *conn) reusable() bool {
	reusable := false
	err := c.raw.Read(func(fd uintptr) bool {
		var unexpected [1]byte
		n, err := syscall.Read(int(fd), unexpected[:])
		reusable = n <= 0 && errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && reusable
}
