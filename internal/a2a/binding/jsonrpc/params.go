// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

// decode decodes the params of a call and then releases the body. It fails if a required
// extension is missing.
func decode[T any](c *call, read func([]byte) (T, error)) (req T, err error) {
	if c.missing != nil {
		return req, c.missing
	}
	req, err = read(c.params())
	if err == nil {
		c.releaseBody()
	}
	return req, c.request.checkMarker(c.dialect, err)
}

// releaseBody copies the id of the request out of the body, and releases the body. It also
// sets marked: resolve has already called checkMarker, which would refuse a request of an
// early version without its params.
func (c *call) releaseBody() {
	c.request.id, c.request.params, c.request.marked = bytes.Clone(c.request.id), nil, true
	c.Release()
}

// params returns the params of the request, and an empty object if it has none.
func (c *call) params() []byte {
	if c.request.params == nil {
		return []byte("{}")
	}
	return c.request.params
}

func (h *Handler) sendRequest(c *call) (*a2a.SendRequest, error) {
	req, err := decode(c, c.dialect.decodeSend)
	if err != nil {
		return nil, err
	}
	req.Owner = c.owner
	req.Dialect = c.dialect.id
	req.Restart = c.dialect == dialectV01 && h.RestartV01 != nil && h.RestartV01()
	req.Extensions = c.extensions
	req.Trace = httpcall.TraceContext(c.R.Context(), c.R.Header)
	return req, nil
}

// checkMarker returns an error if a request must not omit the member jsonrpc. Examples of
// 0.2 omit it, so it may be missing in an otherwise valid request of a version up to 0.3
// with an object as params. paramsErr is the error of decoding the params.
func (r *request) checkMarker(d *dialect, paramsErr error) error {
	if r.marked {
		return paramsErr
	}
	if paramsErr != nil || d == nil || d == dialectV10 || !r.hasObject() {
		return errMarker
	}
	return nil
}
