// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// known are the versions that have methods here.
var known = []version.Version{{}, version.V01, version.V02, version.V03, version.V10}

// find looks up the method of a call, and checks whether the version that the
// client asks for has it.
func (h *Handler) find(c *call) error {
	asked, ok := version.Of(c.R)
	if !ok {
		c.garbled = true
	}
	c.asked = asked
	if m := methods[c.request.method]; m != nil {
		c.method, c.dialect = m, m.dialect
	}
	switch {
	case !ok, !slices.Contains(known, asked):
		return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	case c.method == nil && c.request.unmarked:
		return errUnmarked()
	case c.method == nil:
		return &a2a.Error{Reason: a2a.ReasonMethodNotFound}
	}
	return h.check(c)
}

func (h *Handler) check(c *call) error {
	switch {
	case slices.Contains(c.dialect.versions, c.asked):
		return nil
	case c.method.shared && c.asked == version.V01:
		c.dialect = dialectV01
		return nil
	case c.asked == version.Version{}:
		// By the letter that means 0.3, but it has no methods of 1.0.
		if h.on(h.StrictVersion) && c.dialect == dialectV10 {
			return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
		}
		c.unsure = c.method.shared
		return nil
	case c.asked == version.V10:
		if h.on(h.StrictVersion) {
			c.dialect = dialectV10 // whose errors the client reads
			return &a2a.Error{Reason: a2a.ReasonMethodNotFound}
		}
		// A client of 1.0 that talks an older version for compatibility may keep
		// its header.
		c.unsure = c.method.shared
		return nil
	default:
		return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
}
