// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"io"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
)

func (h *Handler) stream(c *call) (err error) {
	req, err := c.sendRequest()
	if err != nil {
		return err
	}
	stream, err := h.Handler.Stream(c.R.Context(), req)
	if err != nil {
		return err
	}
	defer func() { sse.CloseUnlessParked(stream, err) }()
	first, err := begin(c, stream)
	if err != nil {
		return err
	}
	return h.reply(c, c.dialect, stream, first, c.dialect.closesSend)
}

func (h *Handler) subscribe(c *call) (err error) {
	req, err := c.subscribeRequest()
	if err != nil {
		return err
	}
	d := c.dialect
	if c.legacy && req.After != nil {
		// The snapshot of a task shows the dialect in which the task was made. A resumed
		// stream usually has no snapshot, so the binding reads the task.
		task, err := h.Handler.Get(c.R.Context(), &a2a.GetRequest{
			Owner: c.owner, Tenant: req.Tenant, TaskID: req.TaskID, HistoryLength: new(0), Within: a2a.MethodSubscribeToTask,
		})
		if err != nil {
			return err
		}
		d = c.answering(task)
	}
	stream, err := h.Handler.Subscribe(c.R.Context(), req)
	if err != nil {
		return err
	}
	defer func() { sse.CloseUnlessParked(stream, err) }()
	var first []*a2a.Record
	// The header of a resumed stream is sent at once, because the next event may be late,
	// and all checks of the subscription have passed.
	if req.After == nil {
		if first, err = begin(c, stream); err != nil {
			return err
		}
	}
	if len(first) > 0 && first[0].Task != nil {
		t := first[0].Task
		if t.Status.State.Terminal() && !c.dialect.followsTerminal {
			return &a2a.Error{Reason: a2a.ReasonUnsupportedOperation, Message: "Task is in a terminal state", TaskID: t.ID}
		}
		d = c.answering(t)
	}
	return h.reply(c, d, stream, first, d.closesSubscribe)
}

func (c *call) subscribeRequest() (*a2a.SubscribeRequest, error) {
	req, err := decodeAny(c, c.dialect.codec.DecodeSubscribeBody)
	if err != nil {
		return nil, err
	}
	if err := c.names("id", req.TaskID); err != nil {
		return nil, err
	}
	if n := c.history(); n != nil {
		req.HistoryLength = n
	}
	if req.Tenant == "" {
		req.Tenant, err = c.asked()
	} else {
		req.Tenant, err = c.within(req.Tenant)
	}
	if err == nil {
		err = c.query.err
	}
	req.Owner, req.TaskID = c.owner, c.task
	req.After = sse.ParseLastEventID(c.R.Header.Get("Last-Event-ID"))
	return req, err
}

// begin waits for the first records of a stream. The caller can still report an error of
// begin as an ordinary response with an HTTP status.
func begin(c *call, stream a2a.Stream) ([]*a2a.Record, error) {
	first, err := stream.Next(c.R.Context())
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return first, err
}

// reply sends a stream in a dialect. first has the records that were already read from it.
func (h *Handler) reply(c *call, d *dialect, stream a2a.Stream, first []*a2a.Record, closing func(*a2a.Event) bool) error {
	c.Answered = true
	name, outcome := string(c.operation.name), c.outcome()
	err := h.Streams.Serve(c.R.Context(), c.W, &sse.Reply{
		Frame:       sse.Frame{Dialect: d.id, Append: d.appendEvent},
		Stream:      stream,
		First:       first,
		IsLast:      closing,
		FinalEvent:  d.last,
		EncodeError: c.appendStreamError,
		ErrorFrame:  sse.Frame{Event: "error"},
		Request:     c.R,
		Reserve:     c.AnswerMemory().Reserve,
		OnEnd: func(ctx context.Context, err error) {
			stream.Close()
			_ = outcome.Conclude(ctx, h.Log, h.Observe, sse.FailureOf(ctx, h.Log, name, err))
		},
	})
	return sse.FailureOf(c.R.Context(), h.Log, name, err)
}
