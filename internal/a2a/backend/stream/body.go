// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
)

// Limits of the reads that discard the rest of a response so that its connection can be
// reused: the bytes, and for DiscardRest the time.
const (
	maxDiscard     = 64 << 10
	maxDiscardTime = 250 * time.Millisecond
)

// maxPreallocated bounds the buffer that is allocated for a Content-Length before the
// bytes have arrived.
const maxPreallocated = 64 << 10

// Body reads one response within the limits. Each error of its methods, except io.EOF and
// the errors of functions that the caller passes, is or wraps a *backend.TurnError.
type Body struct {
	// Secrets are replaced in excerpts of the response.
	Secrets []string

	// Reserve reserves memory for the event that is being read, see backend.Turn.Reserve. Nil
	// reserves nothing.
	Reserve func(bytes int64) error

	// LastEventID is the id of the latest event of SSE that has one. SSE sets it before it calls take.
	LastEventID []byte

	limits   *Limits
	watchdog *Watchdog
	resp     *http.Response
	// coding and mediaType are the Content-Encoding and the Content-Type.
	coding, mediaType string
	// line is the size of the buffer for lines, joined that of the data of an event of several lines, and decoded what the texts weigh
	// with which Admit was called since the last read, in bytes.
	line, joined int
	decoded      int64
	// reserved is true while memory is reserved for them.
	reserved bool
	// read is the number of bytes that were read.
	read int64
	// pendingLines is the value of PendingLines.
	pendingLines int
	// ended is true once a read has returned the end of the response or an error.
	ended bool
}

// NewBody returns the body of a response. The caller closes the response. If w is nil,
// reading does not count as activity of the turn. NewBody sets the header of the response
// to nil: no budget counts it, and a response may last for an hour.
func (c *Client) NewBody(resp *http.Response, w *Watchdog) *Body {
	b := &Body{
		limits: &c.limits, watchdog: w, resp: resp,
		coding: resp.Header.Get("Content-Encoding"), mediaType: resp.Header.Get("Content-Type"),
	}
	resp.Header = nil
	return b
}

// MediaType returns the media type of the response with its parameters, by default
// application/octet-stream. It fails for a response with a content coding, because the
// request accepted none and the encoded bytes would be read as text.
func (b *Body) MediaType() (mediaType string, params map[string]string, err error) {
	if b.coding != "" && !strings.EqualFold(b.coding, "identity") {
		return "", nil, backend.Failed("The agent's answer is compressed, which the sidecar did not accept", nil)
	}
	mediaType, params, err = mime.ParseMediaType(b.mediaType)
	if err != nil {
		return "application/octet-stream", nil, nil //nolint:nilerr // the default of RFC 9110 section 8.3
	}
	return mediaType, params, nil
}

// Read implements io.Reader. It fails if the response exceeds MaxAnswer.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.resp.Body.Read(p)
	b.ended = b.ended || err != nil
	b.read += int64(n)
	if b.read > b.limits.MaxAnswer {
		return 0, backend.Failed(fmt.Sprintf("The agent's answer exceeds %d bytes", b.limits.MaxAnswer), nil)
	}
	if n > 0 {
		b.watchdog.RecordActivity()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		reason := "The agent's answer broke off"
		if proxy, ok := errors.AsType[*egress.ProxyError](err); ok {
			reason += ": " + proxy.Reason()
		}
		return n, &connectionLostError{backend.Interrupted(reason, err)}
	}
	return n, err
}

// connectionLostError is the failure of a response whose connection was lost.
type connectionLostError struct{ *backend.TurnError }

func (b *connectionLostError) Unwrap() error { return b.TurnError }

// ConnectionLost reports whether err says that the connection of a response was lost.
func ConnectionLost(err error) bool {
	_, ok := errors.AsType[*connectionLostError](err)
	return ok
}

// MaxEvent returns the limit of one event, in bytes.
func (b *Body) MaxEvent() int { return b.limits.MaxEvent }

// ContentLength returns the length of the response, -1 if it is not known.
func (b *Body) ContentLength() int64 { return b.resp.ContentLength }

// AtEnd reports whether all bytes of the Content-Length were read. Without a Content-Length,
// it returns false.
func (b *Body) AtEnd() bool { return b.read == b.resp.ContentLength }

// ReadAll reads a response that consists of one event. It fails if the response exceeds
// MaxEvent.
func (b *Body) ReadAll() ([]byte, error) {
	limit := b.limits.MaxEvent
	body, fits, err := b.ReadUpTo(limit)
	if err != nil {
		return nil, err
	}
	if !fits {
		return nil, backend.Failed(fmt.Sprintf("The agent's answer exceeds %d bytes; only text and events may be longer", limit), nil)
	}
	return body, nil
}

// ReadUpTo reads the response, up to limit+1 bytes. fits is true if the response has at most
// limit bytes. After an error, text is the part that was read.
func (b *Body) ReadUpTo(limit int) (text []byte, fits bool, err error) {
	if length := b.resp.ContentLength; length >= 0 && length <= int64(min(limit, maxPreallocated)) {
		text = make([]byte, length)
		n, err := io.ReadFull(b, text)
		return text[:n], true, err
	}
	text, err = io.ReadAll(io.LimitReader(b, int64(min(limit, maxPreallocated))+1))
	if err != nil || len(text) <= min(limit, maxPreallocated) {
		return text, len(text) <= limit, err
	}
	size := limit + 1
	if length := b.resp.ContentLength; length >= 0 && length <= int64(limit) {
		size = int(length)
	}
	if err := b.reserve(size); err != nil {
		return text, false, err
	}
	whole := bytes.NewBuffer(make([]byte, 0, min(size, 16*len(text))))
	_, _ = whole.Write(text) // never fails
	_, err = whole.ReadFrom(io.LimitReader(b, int64(limit)+1-int64(len(text))))
	return whole.Bytes(), whole.Len() <= limit, err
}

// reserve reserves memory for a buffer of size bytes and what is decoded of it, and releases what was reserved for texts that were decoded.
func (b *Body) reserve(size int) error {
	b.line = size
	b.decoded = 0
	return b.charge()
}

// charge reserves memory for all that the body holds. Buffers of at most 64 KiB and texts of freeWeight need none.
func (b *Body) charge() error {
	size := int64(max(b.line, b.joined))
	if size <= maxPreallocated {
		size = 0
	}
	needs := size > 0 || b.decoded > freeWeight
	if b.Reserve == nil || !needs && !b.reserved {
		return nil
	}
	b.reserved = needs
	bytes := memoryshare.EventCost * size
	if needs {
		bytes += b.decoded
	}
	return b.Reserve(bytes)
}

// AtMost returns a Body.Reserve that reserves nothing, and fails for more than most bytes.
func AtMost(most int64) func(bytes int64) error {
	return func(bytes int64) error {
		if bytes > most {
			return backend.Failed(fmt.Sprintf("The agent's answer needs %d KiB of memory, and %d KiB is the limit", bytes>>10, most>>10), nil)
		}
		return nil
	}
}

// freeWeight is what the texts of one read may weigh without a reservation, in bytes.
const freeWeight = 32 << 10

// placesOfParts are the members of events and answers, of all versions, that have parts, or that contain such members.
var placesOfParts = []string{
	"result", "task", "history", "artifacts", "artifact", "artifactUpdate", "artifact_update", "statusUpdate", "status_update", "status", "message", "content", "parts", "part",
}

// WeightOf returns the weight of an event or an answer (jsonweight), as far as it takes more than its length says. The data of a part stays
// text.
func WeightOf(text []byte) int64 {
	return max(0, jsonweight.Except(text, freeWeight, "data", placesOfParts...)-int64(len(text)/2))
}

// Admit reserves memory for a text that is about to be decoded, by WeightOf. The memory is held until the next read.
func (b *Body) Admit(text []byte) error {
	if b.Reserve == nil {
		return nil
	}
	b.decoded += WeightOf(text)
	if b.decoded <= freeWeight {
		return nil
	}
	return b.charge()
}

// HasFraming reports whether the framing of the body distinguishes its end from a lost
// connection.
func (b *Body) HasFraming() bool {
	return b.resp.ContentLength >= 0 || len(b.resp.TransferEncoding) > 0 || b.resp.ProtoMajor > 1
}

// DiscardRest reads the rest of a response that is not needed, up to maxDiscard bytes, so
// that the connection can be reused if the rest is short. It cancels the turn's context if
// the read does not end within maxDiscardTime. The body must have a watchdog. If the response
// has ended, DiscardRest does nothing, because to start the timer may wake an idle thread.
func (b *Body) DiscardRest() {
	if b.ended {
		return
	}
	closing := time.AfterFunc(maxDiscardTime, func() { b.watchdog.cancel(nil) })
	defer closing.Stop()
	discard(b.resp.Body)
}

func discard(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, maxDiscard)
}

// DecodeReason returns the reason why a text could not be decoded. err is the error of the
// decoder, and expected names the expected content, such as "an event". The reason contains
// no part of the text; backend.Unrecognized adds an excerpt.
func DecodeReason(err error, expected string) string {
	var problem *a2a.Error
	switch {
	case errors.As(err, &problem) && problem.Reason == a2a.ReasonParse:
		return "is not JSON: " + problem.Message
	case errors.As(err, &problem):
		return "is not " + expected + ": " + problem.Error()
	case err != nil:
		return "is not " + expected + ": " + err.Error()
	default:
		return "is not " + expected
	}
}
