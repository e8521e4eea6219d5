// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Config configures a Handler. RestartV01 is optional.
type Config struct {
	httpcall.Config
	// RestartV01 reports whether a message of 0.1 to a task that has ended starts the task
	// again. A nil RestartV01 means false.
	RestartV01 func() bool
	// Streams configures streams.
	Streams sse.Config
}

// Handler serves JSON-RPC requests by POST.
type Handler struct{ Config }

// call is the state of one request.
type call struct {
	httpcall.Call
	request request
	started time.Time
	resolution
	owner a2a.Owner
	// extensions are the activated extensions. missing is the error to return if the client
	// does not request a required extension.
	extensions []string
	missing    error
}

// method is a JSON-RPC method.
type method struct {
	name string
	// operation is the method's name in 1.0.
	operation a2a.Method
	// dialect is the dialect that has the method. If several dialects have it, dialect is
	// the latest.
	dialect *dialect
	serve   func(*Handler, *call) error
	// shared is true if 0.1 has a method of the same name.
	shared bool
}

// resolution has the method of a request and the dialect of its client. resolve makes it
// once, before the params are decoded.
type resolution struct {
	// method and dialect are nil if there is no such method.
	method  *method
	dialect *dialect
	// asked is the version that the client names, and zero if it names none or an invalid
	// one. unreadable is true if the version is invalid.
	asked      version.Version
	unreadable bool
}

// detailed reports whether the client reads errors with an array of details. A client that
// names an unsupported version probably uses a version after 1.0, so it reads them.
func (r *resolution) detailed() bool {
	if r.dialect != nil {
		return r.dialect.detailed || r.asked.Major > 1 || r.asked.Major == 1 && r.asked.Minor > 0 || r.unreadable
	}
	return r.asked.Major > 0 || r.unreadable
}

const contentType = "application/json"

// outcome returns the outcome of a call that succeeds.
func (c *call) outcome() httpcall.Outcome {
	o := httpcall.Outcome{Binding: "jsonrpc", Started: c.started}
	if c.method != nil {
		o.Method, o.Version = c.method.operation, c.dialect.label
	}
	return o
}

// result writes a response with the result that appendTo appends. size is an estimate of
// its length, in bytes.
func (c *call) result(size int, appendTo func([]byte) []byte) error {
	return c.WriteResult(contentType, size, func(dst []byte) []byte {
		dst = append(dst, c.prefix()...)
		return append(appendTo(dst), '}')
	})
}

// prefix returns the part of a response before its result. A closing brace must follow the
// result.
func (c *call) prefix() []byte {
	dst := make([]byte, 0, len(`{"jsonrpc":"2.0","id":,"result":`)+len(c.request.id))
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, c.request.id...)
	return append(dst, `,"result":`...)
}
