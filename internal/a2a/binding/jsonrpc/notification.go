// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// notify serves a notification: a request without an id, whose client expects no response (JSON-RPC 2.0
// section 4.1). It responds with 204 and no body as soon as a message is accepted, and ignores methods
// that change nothing. But an error has a response, as the test suite for 0.3 requires.
func (h *Handler) notify(c *call) error {
	var err error
	switch c.method.operation {
	case a2a.MethodSendMessage, a2a.MethodSendStreamingMessage:
		var req *a2a.SendRequest
		req, err = h.sendRequest(c)
		if err == nil {
			req.ReturnImmediately = true
			_, err = h.Handler.Send(c.R.Context(), req)
		}
	case a2a.MethodCancelTask, a2a.MethodCreatePushConfig, a2a.MethodDeletePushConfig:
		w := c.W
		c.W = discarded{}
		err = c.method.serve(h, c)
		c.W = w
	default:
	}
	if err != nil {
		return err
	}
	c.Answered = true
	c.W.WriteHeader(http.StatusNoContent)
	return nil
}

// discarded is the response to a notification.
type discarded struct{}

// Header implements http.ResponseWriter.
func (discarded) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (discarded) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (discarded) WriteHeader(int) {}
