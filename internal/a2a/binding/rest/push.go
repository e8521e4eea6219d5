// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

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
	if err := c.names("taskId", req.Config.TaskID); err != nil {
		return err
	}
	if req.Tenant, err = c.within(req.Tenant); err != nil {
		return err
	}
	req.Owner, req.Config.TaskID = c.owner, c.task
	return c.answerPush(h.Push.SetPush(c.R.Context(), req))
}

func (h *Handler) getPush(c *call) error {
	req, err := h.pushRequest(c)
	if err != nil {
		return err
	}
	return c.answerPush(h.Push.GetPush(c.R.Context(), req))
}

func (h *Handler) deletePush(c *call) error {
	req, err := h.pushRequest(c)
	if err != nil {
		return err
	}
	if err := h.Push.DeletePush(c.R.Context(), req); err != nil {
		return err
	}
	return c.result(0, func(dst []byte) []byte { return append(dst, "{}"...) })
}

func (h *Handler) listPush(c *call) error {
	if err := h.pushes(); err != nil {
		return err
	}
	req := &a2a.ListPushRequest{Owner: c.owner, TaskID: c.task, PageToken: c.query.text("pageToken")}
	if n := c.query.length("pageSize"); n != nil {
		req.PageSize = *n
	}
	var err error
	if req.Tenant, err = c.asked(); err != nil {
		return err
	}
	page, err := h.Push.ListPush(c.R.Context(), req)
	if err != nil {
		return err
	}
	return c.result(httpcall.PushPageSize(page), func(dst []byte) []byte { return c.dialect.appendPushPage(dst, page) })
}

// pushRequest returns the request for the push configuration of the path.
func (h *Handler) pushRequest(c *call) (*a2a.PushRequest, error) {
	if err := h.pushes(); err != nil {
		return nil, err
	}
	tenant, err := c.asked()
	return &a2a.PushRequest{Owner: c.owner, Tenant: tenant, TaskID: c.task, ID: c.config}, err
}

func (c *call) answerPush(config *a2a.PushConfig, err error) error {
	if err != nil {
		return err
	}
	return c.result(httpcall.PushSize(config), func(dst []byte) []byte { return c.dialect.appendPush(dst, config) })
}

// pushes returns an error if the card does not declare push notifications. Callers call it
// before they decode the body.
func (h *Handler) pushes() error {
	if !h.Card().Capabilities.PushNotifications {
		return &a2a.Error{Reason: a2a.ReasonPushNotSupported}
	}
	return nil
}
