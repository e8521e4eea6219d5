// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/admission"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/exchange"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// call is one call on its way.
type call struct {
	grpc.ServerStream
	method  *method
	dialect *dialect
	owner   a2a.Owner
}

// serve returns the library's handler of a method. The library runs it in a
// goroutine of its own, so that a panic must be caught here.
func (h *Handler) serve(m *method) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) (err error) {
		c := &call{ServerStream: stream, method: m, dialect: m.dialect}
		defer func() {
			if reason := recover(); reason != nil {
				h.Log.ErrorContext(c.Context(), "panic", "reason", reason, "stack", string(debug.Stack()))
				err = h.ended(c, &a2a.Error{Reason: a2a.ReasonInternal}) //nolint:contextcheck // the call carries its context
			}
		}()
		return h.ended(c, h.run(c)) //nolint:contextcheck // the call carries its context
	}
}

// run checks in the order of all bindings: version, method, then what the
// operation asks for.
func (h *Handler) run(c *call) error {
	asked, ok := version.Parse(c.header(strings.ToLower(version.Name)))
	if !ok || !c.dialect.serves(asked, h.StrictVersion()) {
		return &a2a.Error{Reason: a2a.ReasonVersionNotSupported}
	}
	caller, ok := auth.CallerFrom(c.Context())
	if !ok {
		return &a2a.Error{Reason: a2a.ReasonUnauthenticated}
	}
	c.owner = caller.Owner
	return c.method.serve(h, c)
}

// ended counts a call and returns its status. The end of a client's context is
// nobody's error: the client left, or its deadline passed. The task goes on.
func (h *Handler) ended(c *call, err error) error {
	if gone := c.Context().Err(); gone != nil {
		return status.FromContextError(gone).Err()
	}
	if errors.Is(err, errGone) {
		return status.Error(codes.Canceled, err.Error())
	}
	outcome := exchange.Outcome{Binding: "grpc"}
	if c.method.name != "" {
		outcome.Method, outcome.Version = c.method.name, c.dialect.label
	}
	if err == nil {
		h.Observe(outcome)
		return nil
	}
	problem := a2a.ErrorOf(err)
	if errors.Is(err, a2a.ErrSlowSubscriber) {
		h.Log.InfoContext(c.Context(), "cut off stalled stream", "method", c.method.name)
	}
	if problem.Reason == a2a.ReasonInternal {
		h.Log.ErrorContext(c.Context(), "request", "method", c.method.name, "error", err)
	}
	outcome.Code = exchange.Code(problem)
	h.Observe(outcome)
	return statusOf(problem, h.Profile()).Err()
}

// header returns the first value of a piece of metadata.
func (c *call) header(name string) string {
	if values := c.headers(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (c *call) headers(name string) []string {
	return metadata.ValueFromIncomingContext(c.Context(), name)
}

// receive reads the request. What the library finds wrong with it, such as an
// encoding that it does not know, it has answered itself.
func receive[R any](c *call, decode func([]byte) (R, error)) (R, error) {
	in := &incoming[R]{read: decode}
	if c.RecvMsg(in) != nil {
		return in.value, &a2a.Error{Reason: a2a.ReasonParse}
	}
	return in.value, in.err
}

// errGone ends a call that can no longer be answered.
var errGone = errors.New("client is gone")

// reply sends a message.
func (c *call) reply(text []byte) error {
	if c.SendMsg(encoded(text)) != nil {
		return errGone
	}
	return nil
}

// The names of the metadata that lists extensions: that of 1.0, and that of 0.3
// before it.
const (
	extensions    = "a2a-extensions"
	oldExtensions = "x-a2a-extensions"
)

// activate returns the extensions that are in force, and echoes them under the
// name that the client used.
func (h *Handler) activate(c *call) ([]string, error) {
	name, asked := extensions, c.headers(extensions)
	if old := c.headers(oldExtensions); len(old) > 0 {
		if len(asked) == 0 {
			name = oldExtensions
		}
		asked = append(asked, old...)
	}
	activated, err := admission.Activate(h.Card(), asked)
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return nil, &a2a.Error{Reason: c.dialect.lacksExtension, Message: problem.Message}
	}
	if len(activated) > 0 {
		err = c.SetHeader(metadata.Pairs(name, strings.Join(activated, ", ")))
	}
	return activated, err
}
