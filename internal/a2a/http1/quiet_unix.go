// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package http1

import (
	"errors"
	"syscall"
)

const supported = true

// quiet reports whether an idle connection is still there, with nothing to
// read: its server has neither closed it nor said what nobody asked. The
// sockets of Go do not block.
func (c *conn) quiet() bool {
	quiet := false
	err := c.raw.Read(func(fd uintptr) bool {
		var unasked [1]byte
		n, err := syscall.Read(int(fd), unasked[:])
		quiet = n <= 0 && errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && quiet
}
