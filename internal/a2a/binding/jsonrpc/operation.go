// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
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

func (h *Handler) setPush(c *call) error {
	if err := h.pushes(); err != nil {
		return err
	}
	req, err := decode(c, c.dialect.decodeSetPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	return c.push(h.Push.SetPush(c.R.Context(), req))
}

func (h *Handler) getPush(c *call) error {
	if err := h.pushes(); err != nil {
		return err
	}
	req, err := decode(c, c.dialect.decodeGetPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	return c.push(h.Push.GetPush(c.R.Context(), req))
}

func (c *call) push(config *a2a.PushConfig, err error) error {
	if err != nil {
		return err
	}
	return c.result(httpcall.PushSize(config), func(dst []byte) []byte { return c.dialect.appendPush(dst, config) })
}

func (h *Handler) listPush(c *call) error {
	if err := h.pushes(); err != nil {
		return err
	}
	req, err := decode(c, c.dialect.decodeListPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	page, err := h.Push.ListPush(c.R.Context(), req)
	if err != nil {
		return err
	}
	return c.result(httpcall.PushPageSize(page), func(dst []byte) []byte { return c.dialect.appendPushPage(dst, page) })
}

func (h *Handler) deletePush(c *call) error {
	if err := h.pushes(); err != nil {
		return err
	}
	req, err := decode(c, c.dialect.decodeDeletePush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	if err := h.Push.DeletePush(c.R.Context(), req); err != nil {
		return err
	}
	return c.result(0, func(dst []byte) []byte { return append(dst, c.dialect.deleted...) })
}

// pushes returns an error if the card does not declare push notifications. Callers call it
// before they decode the params.
func (h *Handler) pushes() error {
	if !h.Card().Capabilities.PushNotifications {
		return &a2a.Error{Reason: a2a.ReasonPushNotSupported}
	}
	return nil
}

// extendedCard responds with the extended card. The card depends on the caller, so no cache
// may store it.
func (h *Handler) extendedCard(c *call) error {
	var tenant string
	var malformed error
	if c.dialect == dialectV10 {
		tenant, malformed = protojson.V10.DecodeExtendedCard(c.params())
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
