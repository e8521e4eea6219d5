// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"io"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

// lastEventID is the name of the metadata with which a client resumes a stream. If a stream
// ends before its task, its trailer has the number of the last event under this name. The
// client sends the number when it subscribes again.
const lastEventID = "Last-Event-Id"

func (h *Handler) stream(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return err
	}
	ready := c.beginLate()
	stream, err := h.Handler.Stream(c.Context(), req)
	ready()
	if err != nil {
		return err
	}
	defer stream.Close()
	return h.follow(c, stream, c.dialect.closesSend, true)
}

func (h *Handler) subscribe(c *call) error {
	req, err := request(h, c, c.dialect.codec.DecodeSubscribe)
	if err != nil {
		return err
	}
	req.Owner = c.owner
	if seq, err := strconv.ParseUint(c.Header.Get(lastEventID), 10, 64); err == nil {
		req.After = &seq
	}
	stream, err := h.Handler.Subscribe(c.Context(), req)
	if err != nil {
		return err
	}
	defer stream.Close()
	if req.After != nil {
		// The header is sent at once, because the next event may be late, and all checks of
		// the subscription have passed.
		c.begin()
		c.w.flush()
	}
	return h.follow(c, stream, c.dialect.closesSubscribe, c.dialect.followsTerminal || req.After != nil)
}

// follow sends the events of a stream, up to the first event for which closing returns
// true. If terminal is false, it returns an error for a task that has already ended.
func (h *Handler) follow(c *call, stream a2a.Stream, closing func(*a2a.Event) bool, terminal bool) error {
	last := uint64(0)
	for {
		records, err := stream.Next(c.Context())
		for _, record := range records {
			if t := record.Task; t != nil && !terminal && t.Status.State.Terminal() {
				return a2a.TaskEnded(t.ID)
			}
			if err := h.sendEvent(c, record); err != nil {
				c.setLastEventID(last)
				return err
			}
			last = record.Seq
			if closing(&record.Event) {
				return nil
			}
		}
		c.w.flush()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			c.setLastEventID(last)
			return err
		}
	}
}

// setLastEventID sets the trailer with seq, the number of the last event that was sent. If
// seq is 0, no event was sent, and it sets no trailer.
func (c *call) setLastEventID(seq uint64) {
	if seq > 0 {
		c.conn.ResponseTrailer().Set(lastEventID, strconv.FormatUint(seq, 10))
	}
}

// sendEvent sends an event. It reserves memory for an encoding that is not shared by all
// subscribers.
func (h *Handler) sendEvent(c *call, record *a2a.Record) error {
	if !record.Cached(c.dialect.id) {
		x := httpcall.Call{R: c.Request, Limits: h.Limits}
		release, err := x.AnswerMemory().Reserve(c.Context(), encodedSize(record))
		if err != nil {
			return err
		}
		defer release()
	}
	return c.reply(record.Encoded(c.dialect.id, c.dialect.appendEvent))
}
