// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

func (h *Handler) send(c *call) error {
	req, err := c.sendRequest()
	if err != nil {
		return err
	}
	event, err := h.Handler.Send(c.R.Context(), req)
	if err != nil {
		return err
	}
	return c.result(event.Size(), func(dst []byte) []byte { return c.dialect.appendAnswer(dst, &event) })
}

// sendRequest reads the body. Under /v1 it tells the dialect.
func (c *call) sendRequest() (*a2a.SendRequest, error) {
	if c.legacy && speaksKind(c.body) {
		c.dialect = dialectKind
	}
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
	req.TraceParent = c.R.Header.Get("Traceparent")
	return req, nil
}

// decode reads the body, and lets go of it: the answer may be long in coming.
func decode[T any](c *call, read func([]byte) (T, error)) (T, error) {
	req, err := read(c.body)
	c.forget()
	return req, err
}

// decodeAny is decode for what may say nothing.
func decodeAny[T any](c *call, read func([]byte) (*T, error)) (*T, error) {
	if len(bytes.TrimSpace(c.body)) > 0 {
		return decode(c, read)
	}
	c.forget()
	return new(T), nil
}

func (c *call) forget() {
	c.Release()
	c.body = nil
}

// history reads how much of it a client wants; nil for all.
func (c *call) history() *int {
	n := c.query.length("historyLength")
	if n != nil && *n == 0 && c.dialect.zeroHistory {
		return nil
	}
	return n
}

// asked ends the reading of a query, and returns the tenant.
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
	task, err := h.Handler.Get(c.R.Context(), req)
	return c.answerTask(task, err)
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
	if err != nil {
		return err
	}
	return c.result(page.Size(), func(dst []byte) []byte { return c.dialect.appendTaskPage(dst, page) })
}

func (h *Handler) cancel(c *call) error {
	req, err := decodeAny(c, c.dialect.decodeCancel)
	if err != nil {
		return err
	}
	if err := c.names("id", req.TaskID); err != nil {
		return err
	}
	if req.Tenant, err = c.within(req.Tenant); err != nil {
		return err
	}
	req.Owner, req.TaskID = c.owner, c.task
	task, err := h.Handler.Cancel(c.R.Context(), req)
	return c.answerTask(task, err)
}

func (c *call) answerTask(task *a2a.Task, err error) error {
	if err != nil {
		return err
	}
	c.settle(task)
	return c.result(task.Size(), func(dst []byte) []byte { return c.dialect.appendTask(dst, task) })
}

// settle decides on the dialect of a call under /v1 that has no body to tell
// it: the one in which the task was made, if that is one of these.
func (c *call) settle(task *a2a.Task) {
	if c.legacy && task.Dialect == a2a.DialectKindREST {
		c.dialect = dialectKind
	}
}

// extendedCard answers with the card for known callers. Since it differs from
// one to the other, no cache may keep it for others.
func (h *Handler) extendedCard(c *call) error {
	tenant, err := c.asked()
	if err != nil {
		return err
	}
	text, err := h.ExtendedCard(c.R, tenant, c.dialect.cardForm)
	if c.legacy && a2a.LacksExtendedCard(err) {
		// GetAgentCard of the proto of 0.3 is for either card.
		text, err = h.PublicCard(c.R, c.dialect.cardForm)
	}
	if err != nil {
		return err
	}
	httpcall.SetPrivate(c.W.Header())
	return c.result(len(text), func(dst []byte) []byte { return append(dst, text...) })
}
