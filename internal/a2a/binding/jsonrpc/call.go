// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Config configures a Handler. RestartV01 is optional.
type Config struct {
	httpcall.Config
	// RestartV01 reports whether a message of 0.1 to a task that has ended starts the task
	// again. A nil RestartV01 means false.
	RestartV01 func() bool
	// Streams configures the SSE responses.
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
	// extensions are the activated extensions. missing is the error for a required extension
	// that the client does not request, nil if there is none.
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
	// method and dialect are nil if no method has the name of the request.
	method  *method
	dialect *dialect
	// asked is the version that the client names, and zero if it names none or an invalid
	// one. unreadable is true if the version is invalid.
	asked      version.Version
	unreadable bool
}

// detailed reports whether the client reads errors with an array of details, as in 1.0. A
// client that names an unsupported version probably uses a version after 1.0 and reads such
// errors, too.
func (r *resolution) detailed() bool {
	if r.dialect != nil {
		return r.dialect.detailed || r.asked.Major > 1 || r.asked.Major == 1 && r.asked.Minor > 0 || r.unreadable
	}
	return r.asked.Major > 0 || r.unreadable
}

const contentType = "application/json"

// respond returns err if it is not nil. Otherwise, it writes a response with the result that
// appendTo encodes.
func respond[R interface{ Size() int }](c *call, appendTo func([]byte, R) []byte, result R, err error) error {
	if err != nil {
		return err
	}
	return c.result(result.Size(), func(dst []byte) []byte { return appendTo(dst, result) })
}

// outcome returns the outcome of a call that succeeds.
func (c *call) outcome() httpcall.Outcome {
	o := httpcall.Outcome{Binding: "jsonrpc", Started: c.started}
	if c.method != nil {
		o.Method = c.method.operation
		o.Version = c.dialect.label
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

// decode decodes the params of a call and then releases the body. It fails if a required
// extension is missing.
func decode[T any](c *call, read func(*jsondecode.Version, []byte) (T, error)) (req T, err error) {
	if c.missing != nil {
		return req, c.missing
	}
	req, err = read(c.dialect.Version, c.params())
	send, isSend := any(req).(*a2a.SendRequest)
	switch {
	case err != nil:
	case isSend:
		c.detachBody()
		send.Counted = c.Decoded()
	default:
		c.detachBody()
		c.Release()
	}
	return req, c.request.checkMarker(c.dialect, err)
}

// detachBody copies the id of the request out of the body, which is released afterwards with the
// params. It also sets marked, because decode calls checkMarker afterwards: checkMarker
// would otherwise find no params, and would refuse a request without the member jsonrpc
// that resolve has accepted.
func (c *call) detachBody() {
	c.request.id = bytes.Clone(c.request.id)
	c.request.params = nil
	c.request.marked = true
}

// params returns the params of the request, and an empty object if it has none.
func (c *call) params() []byte {
	if c.request.params == nil {
		return []byte("{}")
	}
	return c.request.params
}

func (h *Handler) sendRequest(c *call) (*a2a.SendRequest, error) {
	req, err := decode(c, (*jsondecode.Version).DecodeSend)
	if err != nil {
		return nil, err
	}
	req.Owner = c.owner
	req.Dialect = c.dialect.id
	req.Restart = c.dialect == dialectV01 && h.RestartV01 != nil && h.RestartV01()
	req.Extensions = c.extensions
	req.Trace = tracing.Continue(c.R.Context(), tracing.OfRequest(c.R.Header))
	return req, nil
}

// checkMarker returns paramsErr, the error of decoding the params, for a request with the
// member jsonrpc. For a request without this member, it returns errMarker, with one
// exception: examples of 0.2 omit the member, so it may be missing in a valid request of a
// version up to 0.3 whose params are an object.
func (r *request) checkMarker(d *dialect, paramsErr error) error {
	if r.marked {
		return paramsErr
	}
	if paramsErr != nil || d == nil || d == dialectV10 || !r.hasObject() {
		return errMarker
	}
	return nil
}

// encodeError returns an error response in a dialect, which is nil if the dialect is not
// known. The data of an error is an object in versions up to 0.3, and an array of
// google.protobuf.Any in 1.0. Up to 0.3, the data names the reasons that have no code of
// their own, such as UNAVAILABLE. An event of a stream has no HTTP status from which a
// client could distinguish them.
func (c *call) encodeError(d *dialect, problem *a2a.Error) []byte {
	if d == dialectV01 && problem.Reason == a2a.ReasonInvalidAgentResponse {
		// 0.1 has no code for this reason.
		problem = &a2a.Error{Reason: a2a.ReasonInternal, Message: problem.Message}
	}
	row := errormap.Lookup(problem, errormap.Profile101)
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), c.request.id...)
	dst = jsonwrite.Int(dst, `,"error":{"code":`, row.JSONRPC)
	dst = jsonwrite.Member(dst, `,"message":`, row.Text(problem))
	switch {
	case c.detailed():
		dst = append(dst, `,"data":`...)
		dst = errormap.AppendDetails(dst, problem)
	case problem.Field != "":
		dst = appendData(dst, row.Reason, "field", problem.Field)
	case problem.Reason == a2a.ReasonVersionNotSupported:
		name, value := errormap.Metadata(problem)
		dst = appendData(dst, row.Reason, name, value)
	case c.dialect != nil && errormap.IsTransport(problem):
		dst = append(dst, `,"data":{"reason":"`...)
		dst = append(dst, row.Reason...)
		dst = append(dst, `"}`...)
	}
	return append(dst, `}}`...)
}

// appendData appends the data of an error in versions up to 0.3.
func appendData(dst []byte, reason, name, value string) []byte {
	dst = append(dst, `,"data":{"reason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, `","`...)
	dst = append(dst, name...)
	return append(jsonwrite.Member(dst, `":`, value), '}')
}
