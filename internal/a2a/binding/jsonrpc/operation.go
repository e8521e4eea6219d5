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

// activate returns the activated extensions, and sends them back in the header of
// the dialect.
func (h *Handler) activate(c *call) ([]string, error) {
	d := c.dialect
	activated, err := requestcheck.Activate(h.Card(), c.R.Header.Values(d.extensionsHeader))
	if problem, ok := errors.AsType[*a2a.Error](err); ok && !d.detailed {
		// Only 1.0 has a code for it.
		return nil, invalid(problem.Message)
	}
	if len(activated) > 0 {
		c.W.Header().Set(d.extensionsHeader, strings.Join(activated, ", "))
	}
	return activated, err
}

func (h *Handler) get(c *call) error {
	req, err := decode(c, c.dialect.decodeGet)
	if follow, asked := c.asksToFollow(); err != nil && asked && c.missing == nil {
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
	if err != nil {
		return err
	}
	return c.answerTask(task, req.HistoryLength)
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
	if err != nil {
		return err
	}
	return c.answerTask(task, nil)
}

// answerTask answers with a task; history is the length that the client asked for.
func (c *call) answerTask(task *a2a.Task, history *int) error {
	d := c.dialect.answering(task)
	if history == nil {
		task = task.WithHistory(d.history)
	}
	return c.result(task.Size(), func(dst []byte) []byte { return d.appendTask(dst, task) })
}

// decode decodes the params of a call that has the required extensions, and then
// releases the body.
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

// releaseBody releases the body, and copies the id out of it. The marker has been
// checked.
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
