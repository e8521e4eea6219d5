// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
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

// activate returns the activated extensions. The response lists them in the extensions
// header of the dialect.
func (h *Handler) activate(c *call) ([]string, error) {
	d := c.dialect
	activated, err := requestcheck.Activate(h.Card(), c.R.Header.Values(d.extensionsHeader))
	if problem, ok := errors.AsType[*a2a.Error](err); ok && !d.detailed {
		// Only 1.0 has a code for a missing extension.
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

// answerTask responds with a task. history is the length of the history that the client
// requests, nil if it requests none.
func (c *call) answerTask(task *a2a.Task, history *int) error {
	d := c.dialect.answering(task)
	if history == nil {
		task = task.WithHistory(d.history)
	}
	return c.result(task.Size(), func(dst []byte) []byte { return d.appendTask(dst, task) })
}
