// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

func (h *Handler) send(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return err
	}
	event, err := h.Handler.Send(c.Context(), req)
	return respond(h, c, c.dialect.appendEvent, &event, err)
}

func (h *Handler) sendRequest(c *call) (*a2a.SendRequest, error) {
	// In JSON, a file has a third more bytes. Turns are counted by the size in JSON.
	maxJSON := int(h.Limits.MaxBody() / 3 * 4)
	req, err := request(h, c, func(text []byte) (*a2a.SendRequest, error) { return c.dialect.decodeSend(text, maxJSON) })
	if err != nil {
		return nil, err
	}
	req.Owner = c.owner
	req.Dialect = c.dialect.id
	req.Extensions = c.extensions
	req.Trace = tracing.Continue(c.Context(), tracing.OfRequest(c.Header))
	return req, nil
}

func (h *Handler) get(c *call) error {
	req, err := request(h, c, c.dialect.decodeGet)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	task, err := h.Handler.Get(c.Context(), req)
	return respond(h, c, c.dialect.codec.AppendTask, task, err)
}

// list serves ListTasks, which only 1.0 has.
func (h *Handler) list(c *call) error {
	req, err := request(h, c, protobuf.V10.DecodeList)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	page, err := h.Handler.List(c.Context(), req)
	return respond(h, c, protobuf.V10.AppendTaskPage, page, err)
}

func (h *Handler) cancel(c *call) error {
	req, err := request(h, c, c.dialect.codec.DecodeCancel)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	task, err := h.Handler.Cancel(c.Context(), req)
	return respond(h, c, c.dialect.codec.AppendTask, task, err)
}

func (h *Handler) setPush(c *call) error {
	req, err := request(h, c, c.dialect.codec.DecodeSetPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	config, err := h.Push.SetPush(c.Context(), req)
	return respond(h, c, c.dialect.codec.AppendPush, config, err)
}

func (h *Handler) getPush(c *call) error {
	req, err := request(h, c, c.dialect.codec.DecodePush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	config, err := h.Push.GetPush(c.Context(), req)
	return respond(h, c, c.dialect.codec.AppendPush, config, err)
}

func (h *Handler) listPush(c *call) error {
	req, err := request(h, c, c.dialect.codec.DecodeListPush)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	page, err := h.Push.ListPush(c.Context(), req)
	return respond(h, c, c.dialect.codec.AppendPushPage, page, err)
}

func (h *Handler) deletePush(c *call) error {
	req, err := request(h, c, c.dialect.codec.DecodePush)
	if err != nil {
		return err
	}
	if req.ID == "" {
		return a2a.InvalidParams("name", "must name a configuration")
	}
	req.Owner = c.owner
	if err := h.Push.DeletePush(c.Context(), req); err != nil {
		return err
	}
	return c.reply(nil)
}

func (h *Handler) extendedCard(c *call) error {
	tenant, err := receive(h, c, c.dialect.decodeCard)
	if err != nil {
		return err
	}
	text, err := h.ExtendedCard(c.Request, tenant, c.dialect.form)
	if c.dialect == dialectV03 && a2a.LacksExtendedCard(err) {
		// GetAgentCard of 0.3 returns the public card if the agent has no extended card.
		text, err = h.PublicCard(c.Request, c.dialect.form)
	}
	if err != nil {
		return err
	}
	x := httpcall.Call{R: c.Request, Limits: h.Limits}
	release, err := x.ReserveAnswer(len(text))
	if err != nil {
		return err
	}
	defer release()
	message, err := c.dialect.encodeCard(text)
	if err != nil {
		return err
	}
	return c.reply(message)
}
