// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
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
	req, err := c.dialect.decodeSend(c.body)
	c.forget()
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

// forget lets go of the body.
func (c *call) forget() {
	c.Forget()
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
	req := &a2a.CancelRequest{}
	var err error
	if !c.empty() {
		if req, err = c.dialect.decodeCancel(c.body); err != nil {
			return err
		}
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

// empty reports whether the body says nothing.
func (c *call) empty() bool { return len(bytes.TrimSpace(c.body)) == 0 }

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
	text, err := h.ExtendedCard(c.R.Context(), tenant, c.dialect.cardForm)
	if problem, ok := errors.AsType[*a2a.Error](err); ok && c.legacy && problem.Reason == a2a.ReasonUnsupportedOperation {
		// Before 1.0, what is not offered is not there.
		c.Status = http.StatusNotFound
	}
	if err != nil {
		return err
	}
	c.W.Header().Set("Cache-Control", "private")
	c.W.Header().Add("Vary", "Authorization")
	return c.result(len(text), func(dst []byte) []byte { return append(dst, text...) })
}
