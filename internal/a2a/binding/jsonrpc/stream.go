// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
)

func (h *Handler) stream(c *call) (err error) {
	req, err := h.sendRequest(c)
	if err != nil {
		return h.early(c, err, nil)
	}
	begin := h.streamsFor(c, c.dialect).Begin(c.R.Context(), c.W)
	defer begin.Close()
	stream, err := h.Handler.Stream(c.R.Context(), req)
	if err != nil {
		return h.early(c, err, begin)
	}
	defer func() { sse.CloseUnlessParked(stream, err) }()
	return h.follow(c, stream, following{open: c.dialect.open, closing: c.dialect.closesSend, terminal: true, begin: begin})
}

func (h *Handler) subscribe(c *call) error {
	req, err := decode(c, (*jsondecode.Version).DecodeSubscribe)
	if err != nil {
		return h.early(c, err, nil)
	}
	return h.subscribeTo(c, req, nil)
}

// subscribeTo subscribes to a task. open returns the events that replace the snapshot at the
// beginning of the stream. A nil open means the open of the dialect.
func (h *Handler) subscribeTo(c *call, req *a2a.SubscribeRequest, open opening) (err error) {
	req.Owner = c.owner
	req.After = sse.ParseLastEventID(c.R.Header.Get("Last-Event-ID"))
	d := c.dialect
	if d.ofTask != nil && req.After != nil && open == nil {
		// The snapshot of a task shows the dialect in which the task was made. A resumed
		// stream usually has no snapshot, so the binding reads the task.
		task, err := h.Handler.Get(c.R.Context(), &a2a.GetRequest{
			Owner: req.Owner, TaskID: req.TaskID, HistoryLength: new(0), Within: a2a.MethodSubscribeToTask,
		})
		if err != nil {
			return h.early(c, err, nil)
		}
		d = d.answering(task)
	}
	stream, err := h.Handler.Subscribe(c.R.Context(), req)
	if err != nil {
		return h.early(c, err, nil)
	}
	defer func() { sse.CloseUnlessParked(stream, err) }()
	f := following{open: open, closing: c.dialect.closesSubscribe, terminal: c.dialect.followsTerminal, subscribed: true}
	if req.After == nil {
		return h.follow(c, stream, f)
	}
	// The header is sent at once, because the next event may be late, and all checks of the
	// subscription have passed.
	return h.reply(c, d, f.replaceSnapshot(d, stream), nil, &f)
}

// asksToFollow reports whether the params of tasks/get request a stream, as one client of
// 0.3 does: see jsondecode.DecodeFollow.
func (c *call) asksToFollow() (*a2a.SubscribeRequest, bool) {
	if !c.method.shared || c.dialect == dialectV01 {
		return nil, false
	}
	req, asked := jsondecode.DecodeFollow(c.params())
	if asked {
		c.detachBody()
		c.Release()
	}
	return req, asked
}

// readsStreams reports whether a client accepts a stream.
func (c *call) readsStreams() bool {
	accept := strings.Join(c.R.Header.Values("Accept"), ",")
	return accept == "" || strings.Contains(accept, sse.ContentType) ||
		strings.Contains(accept, "*/*") || strings.Contains(accept, "text/*")
}

type opening func(snapshot *a2a.Record, subscribed bool) []*a2a.Record

// following has the settings of one stream.
type following struct {
	open    opening
	closing func(*a2a.Event) bool
	// terminal is true if the client may follow a task that has ended. Otherwise, it receives
	// an error.
	terminal bool
	// subscribed is true for the stream of a subscription, and false for the stream of a
	// message.
	subscribed bool
	// begin is the time until the first event, nil for a subscription.
	begin *sse.Beginning
}

// replaceSnapshot returns the stream with its snapshot replaced by the events of f.open. If
// f.open is nil, the open of the dialect applies.
func (f *following) replaceSnapshot(d *dialect, stream a2a.Stream) a2a.Stream {
	open := f.open
	if open == nil {
		open = d.open
	}
	if open == nil {
		return stream
	}
	return &opened{Stream: stream, open: func(r *a2a.Record) []*a2a.Record { return open(r, f.subscribed) }}
}

// follow serves a stream. It waits for the first records before it sends the header, so
// that an error before them can be an ordinary response.
func (h *Handler) follow(c *call, stream a2a.Stream, f following) error {
	first, err := stream.Next(c.R.Context())
	if err != nil && !errors.Is(err, io.EOF) {
		return h.early(c, err, f.begin)
	}
	d := c.dialect
	if len(first) > 0 && first[0].Task != nil {
		t := first[0].Task
		if t.Status.State.Terminal() && !f.terminal {
			return h.early(c, a2a.TaskEnded(t.ID), f.begin)
		}
		if f.open == nil {
			d = d.answering(t)
		}
	}
	stream = f.replaceSnapshot(d, stream)
	if s, ok := stream.(*opened); ok {
		first = s.replace(first)
	}
	return h.reply(c, d, stream, first, &f)
}

// reply sends a stream in a dialect. first has the records that were already read from it.
func (h *Handler) reply(c *call, d *dialect, stream a2a.Stream, first []*a2a.Record, f *following) error {
	reply := &sse.Reply{
		Frame:       sse.Frame{Dialect: d.id, Append: d.appendEvent, Prefix: c.prefix(), Suffix: []byte("}")},
		Stream:      stream,
		First:       first,
		IsLast:      f.closing,
		FinalEvent:  httpcall.NoEvent,
		EncodeError: func(err error) []byte { return c.encodeError(d, a2a.ErrorOf(err)) },
		Request:     c.R,
		Reserve:     c.AnswerMemory().Reserve,
		Beginning:   f.begin,
	}
	method := c.method.name
	outcome := c.outcome()
	reply.OnEnd = func(ctx context.Context, err error) {
		stream.Close()
		_ = outcome.Conclude(ctx, h.Log, h.Observe, sse.FailureOf(ctx, h.Log, method, err))
	}
	if d.followsTerminal {
		reply.FinalEvent = httpcall.FinalStatus
	}
	reply.Frame.Unnumbered = c.readsPlainStreams(d)
	c.Answered = true
	return sse.FailureOf(c.R.Context(), h.Log, method, h.streamsFor(c, d).Serve(c.R.Context(), c.W, reply))
}

// readsPlainStreams reports whether the client can read neither comments nor ids in a stream.
func (c *call) readsPlainStreams(d *dialect) bool {
	return d.plainStreams && c.R.Header.Get("Last-Event-ID") == ""
}

// streamsFor returns the settings of a stream in a dialect.
func (h *Handler) streamsFor(c *call, d *dialect) sse.Config {
	streams := h.Streams
	if c.readsPlainStreams(d) {
		streams.KeepAlive = 0
		streams.Interval = nil
	}
	return streams
}

// early reports an error that occurs before the first event of a stream. If the client accepts
// a stream, or the dialect has earlyErrorInStream, early sends the error as an event of a
// stream, because the SDKs for Go and Python read nothing else. In all other cases, and for an
// error with an HTTP status of its own (errormap.IsTransport), early only returns the error,
// and the caller reports it. If the stream has begun already, the error is always an event. A nil
// begin means that it has not.
func (h *Handler) early(c *call, err error, begin *sse.Beginning) error {
	if begin.Opened() {
		c.Answered = true
		if httpcall.ClientLeft(c.R.Context(), err) {
			return err
		}
		return errors.Join(err, begin.Fail(&sse.Frame{}, c.encodeError(c.dialect, a2a.ErrorOf(err))))
	}
	inStream := c.dialect.earlyErrorInStream || strings.Contains(c.R.Header.Get("Accept"), sse.ContentType)
	if !inStream || errormap.IsTransport(a2a.ErrorOf(err)) || httpcall.ClientLeft(c.R.Context(), err) {
		return err
	}
	c.Answered = true
	_, out := h.Streams.Open(c.R.Context(), c.W)
	defer out.Close()
	return errors.Join(err, out.WriteData(&sse.Frame{}, c.encodeError(c.dialect, a2a.ErrorOf(err))))
}
