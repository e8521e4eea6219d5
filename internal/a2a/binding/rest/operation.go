// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

func (h *Handler) send(c *call) error {
	req, err := c.sendRequest()
	if err != nil {
		return err
	}
	event, err := h.Handler.Send(c.R.Context(), req)
	return respond(c, c.dialect.appendAnswer, &event, err)
}

// sendRequest decodes a message.
func (c *call) sendRequest() (*a2a.SendRequest, error) {
	req, err := decode(c, c.dialect.decodeSend)
	if err != nil {
		return nil, err
	}
	if req.Tenant, err = c.within(req.Tenant); err != nil {
		return nil, err
	}
	req.Owner = c.owner
	req.Dialect = c.dialect.id
	req.Extensions = c.extensions
	req.Trace = tracing.Continue(c.R.Context(), tracing.OfRequest(c.R.Header))
	return req, nil
}

// decode decodes the body of a call and then releases it, because the response may be late.
func decode[T any](c *call, read func([]byte) (T, error)) (T, error) {
	req, err := read(c.body)
	if send, ok := any(req).(*a2a.SendRequest); ok && err == nil {
		send.Counted = c.Decoded()
		c.body = nil
		return req, nil
	}
	c.releaseBody()
	return req, err
}

// decodeAny decodes a body that may be empty, and then releases it.
func decodeAny[T any](c *call, read func([]byte) (*T, error)) (*T, error) {
	if len(bytes.TrimSpace(c.body)) > 0 {
		return decode(c, read)
	}
	c.releaseBody()
	return new(T), nil
}

func (c *call) releaseBody() {
	c.Release()
	c.body = nil
}

// history returns the length of the history that a client requests; nil means the whole
// history.
func (c *call) history() *int {
	n := c.query.length("historyLength")
	if n != nil && *n == 0 && c.dialect.zeroHistory {
		return nil
	}
	return n
}

// asked returns the tenant of a request. It returns an error if the query is invalid.
func (c *call) asked() (tenant string, err error) {
	named := c.query.id("tenant")
	if c.query.err != nil {
		return "", c.query.err
	}
	return c.within(named)
}

func (h *Handler) get(c *call) error {
	req := &a2a.GetRequest{Owner: c.owner, TaskID: c.task, HistoryLength: c.history()}
	var err error
	if req.Tenant, err = c.asked(); err != nil {
		return err
	}
	return c.answerTask(h.Handler.Get(c.R.Context(), req))
}

func (h *Handler) list(c *call) error {
	q := c.query
	req := &a2a.ListRequest{
		Owner:            c.owner,
		ContextID:        q.id("contextId"),
		State:            q.state("status"),
		Since:            q.time("statusTimestampAfter"),
		PageSize:         q.pageSize("pageSize"),
		PageToken:        q.text("pageToken"),
		HistoryLength:    c.history(),
		IncludeArtifacts: q.flag("includeArtifacts"),
	}
	var err error
	if req.Tenant, err = c.asked(); err != nil {
		return err
	}
	page, err := h.Handler.List(c.R.Context(), req)
	return respond(c, c.dialect.codec.AppendTaskPage, page, err)
}

func (h *Handler) cancel(c *call) error {
	req, err := decodeAny(c, c.dialect.codec.DecodeCancelBody)
	if err != nil {
		return err
	}
	if err := c.names("id", req.TaskID); err != nil {
		return err
	}
	if req.Tenant, err = c.within(req.Tenant); err != nil {
		return err
	}
	req.Owner = c.owner
	req.TaskID = c.task
	return c.answerTask(h.Handler.Cancel(c.R.Context(), req))
}

func (c *call) answerTask(task *a2a.Task, err error) error {
	if err != nil {
		return err
	}
	d := c.answering(task)
	return c.result(task.Size(), func(dst []byte) []byte { return d.appendTask(dst, task) })
}

// answering returns the dialect of a response with a task. Under /v1, it is dialectKind for
// a task that was made in that dialect.
func (c *call) answering(task *a2a.Task) *dialect {
	if c.legacy && task.Dialect == a2a.DialectKindREST {
		return dialectKind
	}
	return c.dialect
}

// extendedCard responds with the extended card. The card depends on the caller, so no cache
// may store it.
func (h *Handler) extendedCard(c *call) error {
	tenant, err := c.asked()
	if err != nil {
		return err
	}
	text, err := h.ExtendedCard(c.R, tenant, c.dialect.cardForm)
	if c.legacy && a2a.LacksExtendedCard(err) {
		// GetAgentCard of 0.3 returns the public card if the agent has no extended card.
		text, err = h.PublicCard(c.R, c.dialect.cardForm)
	}
	if err != nil {
		return err
	}
	httpcall.SetPrivate(c.W.Header())
	return c.result(len(text), func(dst []byte) []byte { return append(dst, text...) })
}

func (h *Handler) setPush(c *call) error {
	if err := h.CheckPush(); err != nil {
		return err
	}
	req, err := decode(c, c.dialect.codec.DecodeSetPushBody)
	if err != nil {
		return err
	}
	if err := c.names("taskId", req.Config.TaskID); err != nil {
		return err
	}
	if req.Tenant, err = c.within(req.Tenant); err != nil {
		return err
	}
	req.Owner = c.owner
	req.Config.TaskID = c.task
	config, err := h.Push.SetPush(c.R.Context(), req)
	return respond(c, c.dialect.codec.AppendPush, config, err)
}

func (h *Handler) getPush(c *call) error {
	req, err := h.pushRequest(c)
	if err != nil {
		return err
	}
	config, err := h.Push.GetPush(c.R.Context(), req)
	return respond(c, c.dialect.codec.AppendPush, config, err)
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
	if err := h.CheckPush(); err != nil {
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
	return respond(c, c.dialect.codec.AppendPushPage, page, err)
}

// pushRequest returns the request for the push configuration of the path.
func (h *Handler) pushRequest(c *call) (*a2a.PushRequest, error) {
	if err := h.CheckPush(); err != nil {
		return nil, err
	}
	tenant, err := c.asked()
	return &a2a.PushRequest{Owner: c.owner, Tenant: tenant, TaskID: c.task, ID: c.config}, err
}
