// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
)

func (h *Handler) stream(c *call) (err error) {
	req, err := c.sendRequest()
	if err != nil {
		return err
	}
	beginning := h.Streams.Begin(c.R.Context(), c.W)
	defer beginning.Close()
	stream, err := h.Handler.Stream(c.R.Context(), req)
	if err != nil {
		return c.early(err, beginning)
	}
	defer func() { sse.CloseUnlessParked(stream, err) }()
	first, err := begin(c, stream)
	if err != nil {
		return c.early(err, beginning)
	}
	return h.reply(c, c.dialect, stream, first, c.dialect.closesSend, beginning)
}

// early reports an error before the first event of a stream: as an event if the stream has begun
// already. Otherwise, it only returns the error, and the caller reports it with an HTTP status.
func (c *call) early(err error, beginning *sse.Beginning) error {
	if !beginning.Opened() {
		return err
	}
	c.Answered = true
	if httpcall.ClientLeft(c.R.Context(), err) {
		return err
	}
	return errors.Join(err, beginning.Fail(&sse.Frame{Event: "error"}, c.appendStreamError(err)))
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
	if problem, ok := errors.AsType[*a2a.Error](err); ok && isEventSource(c.R, req) && *problem == *a2a.TaskEnded(c.task) {
		c.Answered = true
		c.W.WriteHeader(http.StatusNoContent)
		return nil
	}
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
			return a2a.TaskEnded(t.ID)
		}
		d = c.answering(t)
	}
	return h.reply(c, d, stream, first, d.closesSubscribe, nil)
}

// isEventSource reports whether a subscription may come from an EventSource of a browser that has
// reconnected. It reconnects after every response but 204 and an error.
func isEventSource(r *http.Request, req *a2a.SubscribeRequest) bool {
	return r.Method == http.MethodGet && req.After != nil
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
	req.Owner = c.owner
	req.TaskID = c.task
	req.After = sse.ParseLastEventID(c.R.Header.Get("Last-Event-ID"))
	req.RefuseEnded = isEventSource(c.R, req)
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
func (h *Handler) reply(c *call, d *dialect, stream a2a.Stream, first []*a2a.Record, closing func(*a2a.Event) bool, beginning *sse.Beginning) error {
	c.Answered = true
	name := string(c.operation.name)
	outcome := c.outcome()
	err := h.Streams.Serve(c.R.Context(), c.W, &sse.Reply{
		Frame:       sse.Frame{Dialect: d.id, Append: d.appendEvent},
		Stream:      stream,
		First:       first,
		IsLast:      closing,
		FinalEvent:  d.last,
		EncodeError: c.appendStreamError,
		ErrorFrame:  sse.Frame{Event: "error"},
		Request:     c.R,
		Beginning:   beginning,
		Reserve:     c.AnswerMemory().Reserve,
		OnEnd: func(ctx context.Context, err error) {
			stream.Close()
			_ = outcome.Conclude(ctx, h.Log, h.Observe, sse.FailureOf(ctx, h.Log, name, err))
		},
	})
	return sse.FailureOf(c.R.Context(), h.Log, name, err)
}
