// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
)

func (h *Handler) send(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return err
	}
	event, err := h.Handler.Send(c.r.Context(), req)
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
	task, err := h.Handler.Get(c.r.Context(), req)
	return c.task(task, err)
}

func (h *Handler) cancel(c *call) error {
	req, err := c.method.dialect.decodeCancel(c.params())
	if err != nil {
		return err
	}
	req.Owner = c.owner
	task, err := h.Handler.Cancel(c.r.Context(), req)
	return c.task(task, err)
}

func (h *Handler) stream(c *call) error {
	req, err := h.sendRequest(c)
	if err != nil {
		return h.early(c, err)
	}
	stream, err := h.Handler.Stream(c.r.Context(), req)
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
	req.After = sse.After(c.r.Header.Get("Last-Event-ID"))
	stream, err := h.Handler.Subscribe(c.r.Context(), req)
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
	first, err := stream.Next(c.r.Context())
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
	c.answered = true
	return h.ended(c, h.Streams.Serve(c.r.Context(), c.w, reply))
}

// ended sorts out the ends of a stream that nobody need hear of: the client
// left, or it may resume.
func (h *Handler) ended(c *call, err error) error {
	if c.r.Context().Err() != nil || errors.Is(err, a2a.ErrDraining) {
		return nil //nolint:nilerr // nothing failed
	}
	if errors.Is(err, a2a.ErrSlowSubscriber) || errors.Is(err, sse.ErrStalled) {
		h.Log.InfoContext(c.r.Context(), "cut off stalled stream", "method", c.method.name)
		return nil
	}
	return err
}

// early tells of an error before the first event. A client that asks for a
// stream is told in one: those of Go and Python read nothing else.
func (h *Handler) early(c *call, err error) error {
	inStream := c.method.dialect.earlyErrorInStream || strings.Contains(c.r.Header.Get("Accept"), sse.ContentType)
	if !inStream || outcomeOf(problemOf(err)).status != http.StatusOK || gone(c.r.Context(), err) {
		return err
	}
	c.answered = true
	_, out := h.Streams.Open(c.r.Context(), c.w)
	defer out.Close()
	return errors.Join(err, out.WriteData(&sse.Frame{}, c.errorBody(err)))
}

func (c *call) errorBody(err error) []byte {
	return appendError(nil, c.request.id, problemOf(err), c.detailed())
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
	if req.Push != nil {
		return nil, &a2a.Error{Reason: a2a.ReasonPushNotSupported}
	}
	if err := h.accepts(req.Message); err != nil {
		return nil, err
	}
	req.Owner = c.owner
	req.Extensions = activated
	req.TraceParent = c.r.Header.Get("Traceparent")
	return req, nil
}

// accepts refuses media types that the card does not declare. A part that does
// not name its type is the agent's to judge.
func (h *Handler) accepts(m *a2a.Message) error {
	c := h.Card()
	for i := range m.Parts {
		if t := m.Parts[i].MediaType; t != "" && !c.AcceptsInput(t) {
			return &a2a.Error{
				Reason:  a2a.ReasonContentTypeNotSupported,
				Message: "media type " + t + " is not among the input modes of the agent's card",
				Field:   "message.parts[" + strconv.Itoa(i) + "]",
			}
		}
	}
	return nil
}

// activate returns the extensions that the client asks for and the card
// declares, and echoes them under the name that the client used.
func (h *Handler) activate(c *call) ([]string, error) {
	declared := h.Card().Capabilities.Extensions
	if len(declared) == 0 {
		return nil, nil
	}
	header := c.method.dialect.extensionsHeader
	asked := strings.Split(strings.Join(c.r.Header.Values(header), ","), ",")
	for i := range asked {
		asked[i] = strings.TrimSpace(asked[i])
	}
	var activated []string
	for _, e := range declared {
		if slices.Contains(asked, e.URI) {
			activated = append(activated, e.URI)
		} else if e.Required {
			return nil, extensionRequired(c.method.dialect, e.URI)
		}
	}
	if len(activated) > 0 {
		c.w.Header().Set(header, strings.Join(activated, ", "))
	}
	return activated, nil
}

// extensionRequired has a code of its own in 1.0 only.
func extensionRequired(d *dialect, uri string) *a2a.Error {
	reason := a2a.ReasonExtensionRequired
	if !d.detailed {
		reason = a2a.ReasonInvalidRequest
	}
	return &a2a.Error{Reason: reason, Message: "Extension " + uri + " is required"}
}
