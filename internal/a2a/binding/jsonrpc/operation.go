// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"errors"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

func (h *Handler) send(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return err
	}
	event, err := h.Handler.Send(c.R.Context(), req)
	if err != nil {
		return err
	}
	return c.result(event.Size(), func(dst []byte) []byte { return c.dialect.appendAnswer(dst, &event) })
}

func (h *Handler) sendRequest(c *call) (*a2a.SendRequest, error) {
	req, err := decode(c, c.dialect.decodeSend)
	if err != nil {
		return nil, err
	}
	req.Owner = c.owner
	req.Dialect = c.dialect.id
	req.Restart = c.dialect == dialectV01 && h.on(h.RestartV01)
	req.Extensions = c.extensions
	req.TraceParent = c.R.Header.Get("Traceparent")
	return req, nil
}

// activate returns the extensions that are in force, and echoes them under the
// name that the client used.
func (h *Handler) activate(c *call) ([]string, error) {
	d := c.dialect
	activated, err := requestcheck.Activate(h.Card(), c.R.Header.Values(d.extensionsHeader))
	if problem, ok := errors.AsType[*a2a.Error](err); ok && !d.detailed {
		// It has a code of its own in 1.0 only.
		return nil, invalid(problem.Message)
	}
	if len(activated) > 0 {
		c.W.Header().Set(d.extensionsHeader, strings.Join(activated, ", "))
	}
	return activated, err
}

func (h *Handler) get(c *call) error {
	req, err := decode(c, c.dialect.decodeGet)
	if follow, asked := c.asksToFollow(); err != nil && asked && c.lacking == nil {
		if c.readsStreams() {
			return h.subscribeTo(c, follow, openStatus)
		}
		req, err = &a2a.GetRequest{TaskID: follow.TaskID, HistoryLength: follow.HistoryLength}, nil
	}
	if err != nil {
		return err
	}
	req.Owner = c.owner
	task, err := h.Handler.Get(c.R.Context(), req)
	return c.task(task, req.HistoryLength, err)
}

func (h *Handler) list(c *call) error {
	req, err := decode(c, c.dialect.decodeList)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	page, err := h.Handler.List(c.R.Context(), req)
	if err != nil {
		return err
	}
	return c.result(page.Size(), func(dst []byte) []byte { return c.dialect.appendTaskPage(dst, page) })
}

func (h *Handler) cancel(c *call) error {
	req, err := decode(c, c.dialect.decodeCancel)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	task, err := h.Handler.Cancel(c.R.Context(), req)
	return c.task(task, nil, err)
}

// task answers with a task, of which the client asked for so much history.
func (c *call) task(task *a2a.Task, history *int, err error) error {
	if err != nil {
		return err
	}
	c.settle(task)
	if history == nil {
		task = task.WithHistory(c.dialect.history)
	}
	return c.result(task.Size(), func(dst []byte) []byte { return c.dialect.appendTask(dst, task) })
}

// settle decides on the dialect of a call that could be one of several.
func (c *call) settle(task *a2a.Task) {
	if c.unsure {
		c.dialect, c.unsure = dialectOf(task), false
	}
}

// decode reads the params of a call, which has the extensions that it must.
func decode[T any](c *call, read func([]byte) (T, error)) (req T, err error) {
	if c.lacking != nil {
		return req, c.lacking
	}
	if req, err = read(c.params()); err == nil {
		c.forget()
	}
	if err != nil && c.request.unmarked {
		// What is forgiven to a request that is right otherwise.
		err = errUnmarked()
	}
	return req, err
}

// forget lets go of the body; what is left of it is the id.
func (c *call) forget() {
	c.request.id, c.request.params = bytes.Clone(c.request.id), nil
	c.Release()
}

// params are those of the request; a codec says which it misses.
func (c *call) params() []byte {
	if c.request.params == nil {
		return []byte("{}")
	}
	return c.request.params
}
