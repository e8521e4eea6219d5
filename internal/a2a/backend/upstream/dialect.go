// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/agentevents"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/clientdialect"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// callParams has the parameters of an operation.
type callParams struct {
	send   *a2a.SendRequest
	taskID string
	tenant string
	// history is the number of messages of the task's history to return.
	history int
}

// binding encodes requests to the agent and decodes the envelopes of its responses.
type binding interface {
	// request returns the HTTP request of an operation. base is the URL of the interface.
	request(d *dialect, base *url.URL, op clientdialect.Operation, c *callParams) (method string, u *url.URL, body []byte)
	// unwrap returns the content of a response or of an event. If the agent sent an
	// error, unwrap returns a *protocolError.
	unwrap(text []byte) ([]byte, error)
	// decodeError returns the error in the body of a response with a status other than 2xx,
	// and nil if the body contains none.
	decodeError(status int, text []byte) *protocolError
}

// dialect is one version of the protocol over one binding.
type dialect struct {
	*clientdialect.Dialect
	binding binding
	// extensionsHeader is the header with the extensions that a client requests. It is ""
	// if the version has none.
	extensionsHeader string
}

// event decodes an event of a stream in the version of the dialect. If that fails, it also
// accepts forms of other versions, because servers mix them (agentevents.DecodeEvent).
func (d *dialect) event(text []byte) (a2a.Event, error) { return d.lenient(d.DecodeEvent, text) }

// response decodes the response to a message, as leniently as event.
func (d *dialect) response(text []byte) (a2a.Event, error) { return d.lenient(d.DecodeResponse, text) }

// task decodes a task, as leniently as event.
func (d *dialect) task(text []byte) (a2a.Event, error) {
	e, err := d.lenient(func(text []byte) (a2a.Event, error) {
		t, err := d.DecodeTask(text)
		return a2a.Event{Task: t}, err
	}, text)
	if err == nil && e.Task == nil {
		err = agentevents.ErrNoTask
	}
	return e, err
}

func (d *dialect) lenient(decode func([]byte) (a2a.Event, error), text []byte) (a2a.Event, error) {
	e, err := decode(text)
	if err == nil {
		err = agentevents.Check(&e)
	}
	if err == nil {
		return e, nil
	}
	if jsonread.IsUnreadable(err) {
		return a2a.Event{}, err
	}
	other, otherErr := agentevents.DecodeEvent(text, d.Version == version.V10)
	if otherErr == nil {
		return other, nil
	}
	_, malformed := errors.AsType[*a2a.Error](err)
	if _, better := errors.AsType[*a2a.Error](otherErr); better && !malformed {
		err = otherErr
	}
	return a2a.Event{}, err
}

// maxErrorBody bounds the body of an error response, in bytes.
const maxErrorBody = 64 << 10

// protocolError is an error that the agent returned. It omits the agent's text, which is
// not meant for clients of the sidecar.
type protocolError struct {
	// reason is "" for a code that the protocol does not define.
	reason a2a.Reason
	code   int
}

// Error returns the reason and the code, for the log.
func (f *protocolError) Error() string {
	return "agent answered error " + strconv.Itoa(f.code) + " " + string(f.reason)
}

// isUnsupported reports whether the agent does not support the method or the version of the
// request. The agent has then not processed the request.
func (f *protocolError) isUnsupported() bool {
	return f.reason == a2a.ReasonMethodNotFound || f.reason == a2a.ReasonVersionNotSupported
}
