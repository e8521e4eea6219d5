// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"io"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// lastEventID is the metadata with which a client resumes a stream. The trailer of a stream
// that ends before its task contains it, and the client sends it when it subscribes again.
const lastEventID = "Last-Event-Id"

func (h *Handler) stream(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return err
	}
	stream, err := h.Handler.Stream(c.Context(), req)
	if err != nil {
		return err
	}
	defer stream.Close()
	return c.follow(stream, c.dialect.closesSend, true)
}

func (h *Handler) subscribe(c *call) error {
	req, err := request(h, c, c.dialect.decodeSubscribe)
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
	return c.follow(stream, c.dialect.closesSubscribe, c.dialect.followsTerminal || req.After != nil)
}

// follow sends the events of a stream up to the event that ends it. Unless terminal is
// true, it returns an error for a task that has already ended.
func (c *call) follow(stream a2a.Stream, closing func(*a2a.Event) bool, terminal bool) error {
	last := uint64(0)
	for {
		records, err := stream.Next(c.Context())
		for _, record := range records {
			if t := record.Task; t != nil && !terminal && t.Status.State.Terminal() {
				return &a2a.Error{
					Reason: a2a.ReasonUnsupportedOperation, Message: "Task is in a terminal state", TaskID: t.ID,
				}
			}
			if err := c.reply(record.Encoded(c.dialect.id, c.dialect.appendEvent)); err != nil {
				return err
			}
			if last = record.Seq; closing(&record.Event) {
				return nil
			}
		}
		c.w.flush()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			if last > 0 {
				c.conn.ResponseTrailer().Set(lastEventID, strconv.FormatUint(last, 10))
			}
			return err
		}
	}
}
