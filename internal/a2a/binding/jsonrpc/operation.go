// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

func (h *Handler) send(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return err
	}
	event, err := h.Handler.Send(c.R.Context(), req)
	return respond(c, c.dialect.appendAnswer, &event, err)
}

func (h *Handler) get(c *call) error {
	req, err := decode(c, (*jsondecode.Version).DecodeGet)
	if follow, asked := c.asksToFollow(); err != nil && asked && c.missing == nil {
		if c.readsStreams() {
			return h.subscribeTo(c, follow, openStatus)
		}
		req = &a2a.GetRequest{TaskID: follow.TaskID, HistoryLength: follow.HistoryLength}
		err = nil
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
	req, err := decode(c, (*jsondecode.Version).DecodeList)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	page, err := h.Handler.List(c.R.Context(), req)
	return respond(c, c.dialect.appendTaskPage, page, err)
}

func (h *Handler) cancel(c *call) error {
	req, err := decode(c, (*jsondecode.Version).DecodeCancel)
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
// requests. If it is nil, the dialect determines the length.
func (c *call) answerTask(task *a2a.Task, history *int) error {
	d := c.dialect.answering(task)
	if history == nil {
		task = task.WithHistory(d.history)
	}
	return c.result(task.Size(), func(dst []byte) []byte { return d.appendTask(dst, task) })
}

// decodePush decodes the params of an operation on push configurations. The error of a card
// without push notifications takes precedence over invalid params.
func decodePush[T any](h *Handler, c *call, read func(*jsondecode.Version, []byte) (T, error)) (req T, err error) {
	if err := h.CheckPush(); err != nil {
		return req, err
	}
	return decode(c, read)
}

func (h *Handler) setPush(c *call) error {
	req, err := decodePush(h, c, (*jsondecode.Version).DecodeSetPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	config, err := h.Push.SetPush(c.R.Context(), req)
	return respond(c, c.dialect.appendPush, config, err)
}

func (h *Handler) getPush(c *call) error {
	req, err := decodePush(h, c, (*jsondecode.Version).DecodeGetPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	config, err := h.Push.GetPush(c.R.Context(), req)
	return respond(c, c.dialect.appendPush, config, err)
}

func (h *Handler) listPush(c *call) error {
	req, err := decodePush(h, c, (*jsondecode.Version).DecodeListPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	page, err := h.Push.ListPush(c.R.Context(), req)
	return respond(c, c.dialect.appendPushPage, page, err)
}

func (h *Handler) deletePush(c *call) error {
	req, err := decodePush(h, c, (*jsondecode.Version).DecodeDeletePush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	if err := h.Push.DeletePush(c.R.Context(), req); err != nil {
		return err
	}
	return c.result(0, func(dst []byte) []byte { return append(dst, c.dialect.deleted...) })
}

// extendedCard responds with the extended card. The card depends on the caller, so no cache
// may store it.
func (h *Handler) extendedCard(c *call) error {
	var tenant string
	var malformed error
	if c.dialect == dialectV10 {
		tenant, malformed = jsondecode.V10.DecodeExtendedCard(c.params())
	}
	// The error of a missing card takes precedence over invalid params.
	text, err := h.ExtendedCard(c.R, tenant, c.dialect.cardForm)
	if err != nil {
		return c.noExtendedCard(err)
	}
	if malformed != nil {
		return malformed
	}
	httpcall.SetPrivate(c.W.Header())
	return c.result(len(text), func(dst []byte) []byte { return append(dst, text...) })
}

// noExtendedCard returns the error for a missing extended card in the version of the
// client. 1.0 distinguishes a card that the agent does not offer from one that is not
// configured. 0.3 has one code for both, and 0.2 has none.
func (c *call) noExtendedCard(err error) error {
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok || c.dialect == dialectV10 {
		return err
	}
	switch problem.Reason {
	case a2a.ReasonUnsupportedOperation, a2a.ReasonExtendedCardNotConfigured:
		if c.asked == version.V02 {
			return &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
		}
		return &a2a.Error{Reason: a2a.ReasonExtendedCardNotConfigured}
	default:
		return err
	}
}
