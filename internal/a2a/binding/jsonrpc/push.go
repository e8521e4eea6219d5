// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

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
