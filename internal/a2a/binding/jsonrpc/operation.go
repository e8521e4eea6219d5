// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"io"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/admission"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/exchange"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/fault"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
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
	c.result(func(dst []byte) []byte { return c.method.dialect.appendEvent(dst, &event) })
	return nil
}

func (h *Handler) get(c *call) error {
	req, err := c.method.dialect.decodeGet(c.params())
	if err != nil {
		return err
	}
	req.Owner = c.owner
	task, err := h.Handler.Get(c.R.Context(), req)
	return c.task(task, err)
}

func (h *Handler) cancel(c *call) error {
	req, err := c.method.dialect.decodeCancel(c.params())
	if err != nil {
		return err
	}
	req.Owner = c.owner
	task, err := h.Handler.Cancel(c.R.Context(), req)
	return c.task(task, err)
}

func (h *Handler) stream(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return h.early(c, err)
	}
	stream, err := h.Handler.Stream(c.R.Context(), req)
	if err != nil {
		return h.early(c, err)
	}
	defer stream.Close()
	return h.follow(c, stream, c.method.dialect.closesSend, true)
}

func (h *Handler) subscribe(c *call) error {
	d := c.method.dialect
	req, err := d.decodeSubscribe(c.params())
	if err != nil {
		return h.early(c, err)
	}
	req.Owner = c.owner
	req.After = sse.After(c.R.Header.Get("Last-Event-ID"))
	stream, err := h.Handler.Subscribe(c.R.Context(), req)
	if err != nil {
		return h.early(c, err)
	}
	defer stream.Close()
	if req.After != nil {
		// It may be long before there is more, and nothing can go wrong till then.
		return h.reply(c, stream, nil, d.closesSubscribe)
	}
	return h.follow(c, stream, d.closesSubscribe, d.followsTerminal)
}

// follow serves a stream. Its first records are waited for before the head is
// sent, because until then an error can be told by better means.
func (h *Handler) follow(c *call, stream a2a.Stream, closing func(*a2a.Event) bool, terminal bool) error {
	first, err := stream.Next(c.R.Context())
	if err != nil && !errors.Is(err, io.EOF) {
		return h.early(c, err)
	}
	if len(first) > 0 && !terminal {
		if t := first[0].Task; t != nil && t.Status.State.Terminal() {
			return h.early(c, &a2a.Error{
				Reason: a2a.ReasonUnsupportedOperation, Message: "Task is in a terminal state", TaskID: t.ID,
			})
		}
	}
	return h.reply(c, stream, first, closing)
}

func (h *Handler) reply(c *call, stream a2a.Stream, first []*a2a.Record, closing func(*a2a.Event) bool) error {
	d := c.method.dialect
	reply := &sse.Reply{
		Frame:   sse.Frame{Dialect: d.id, Append: d.appendEvent, Prefix: c.prefix(), Suffix: []byte("}")},
		Stream:  stream,
		First:   first,
		Closing: closing,
		Last:    nothingAfter,
		Failed:  func(err error) []byte { return c.errorBody(err) },
	}
	if d.followsTerminal {
		reply.Last = finalAfter
	}
	c.Answered = true
	return h.ended(c, h.Streams.Serve(c.R.Context(), c.W, reply))
}

// ended sorts out the ends of a stream that nobody need hear of: the client
// left, or it may resume.
func (h *Handler) ended(c *call, err error) error {
	if c.R.Context().Err() != nil || errors.Is(err, a2a.ErrDraining) {
		return nil //nolint:nilerr // nothing failed
	}
	if errors.Is(err, a2a.ErrSlowSubscriber) || errors.Is(err, sse.ErrStalled) {
		h.Log.InfoContext(c.R.Context(), "cut off stalled stream", "method", c.method.name)
		return nil
	}
	return err
}

// early tells of an error before the first event. A client that asks for a
// stream is told in one: those of Go and Python read nothing else.
func (h *Handler) early(c *call, err error) error {
	inStream := c.method.dialect.earlyErrorInStream || strings.Contains(c.R.Header.Get("Accept"), sse.ContentType)
	if !inStream || fault.OfTransport(a2a.ErrorOf(err)) || exchange.Gone(c.R.Context(), err) {
		return err
	}
	c.Answered = true
	_, out := h.Streams.Open(c.R.Context(), c.W)
	defer out.Close()
	return errors.Join(err, out.WriteData(&sse.Frame{}, c.errorBody(err)))
}

func (c *call) errorBody(err error) []byte {
	return appendError(nil, c.request.id, a2a.ErrorOf(err), c.detailed())
}

func (c *call) task(task *a2a.Task, err error) error {
	if err != nil {
		return err
	}
	c.result(func(dst []byte) []byte { return c.method.dialect.appendTask(dst, task) })
	return nil
}

// params are those of the request; a codec says which it misses.
func (c *call) params() []byte {
	if c.request.params == nil {
		return []byte("{}")
	}
	return c.request.params
}

func (h *Handler) sendRequest(c *call) (*a2a.SendRequest, error) {
	activated, err := h.activate(c)
	if err != nil {
		return nil, err
	}
	req, err := c.method.dialect.decodeSend(c.params())
	if err != nil {
		return nil, err
	}
	req.Owner = c.owner
	req.Dialect = c.method.dialect.id
	req.Extensions = activated
	req.TraceParent = c.R.Header.Get("Traceparent")
	return req, nil
}

// activate returns the extensions that are in force, and echoes them under the
// name that the client used.
func (h *Handler) activate(c *call) ([]string, error) {
	d := c.method.dialect
	activated, err := admission.Activate(h.Card(), c.R.Header.Values(d.extensionsHeader))
	if problem, ok := errors.AsType[*a2a.Error](err); ok && !d.detailed {
		// It has a code of its own in 1.0 only.
		return nil, invalid(problem.Message)
	}
	if len(activated) > 0 {
		c.W.Header().Set(d.extensionsHeader, strings.Join(activated, ", "))
	}
	return activated, err
}
