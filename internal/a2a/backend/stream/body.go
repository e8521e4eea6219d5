// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Bounds on what is read only to use a connection again.
const (
	maxDiscard     = 64 << 10
	maxDiscardTime = 250 * time.Millisecond
)

// trusted is what an answer may claim to hold before it has come.
const maxPreallocated = 64 << 10

// Body reads one answer. Whatever it returns that is not nil and not io.EOF is
// a failure of the turn.
type Body struct {
	// Secrets are replaced in excerpts of the answer.
	Secrets []string

	limits   *Limits
	watchdog *Watchdog
	resp     *http.Response
	// read counts the bytes.
	read int64
}

// NewBody returns the body of an answer. The caller closes the answer. Without
// a watchdog what is read is no sign of life of the turn.
func (c *Client) NewBody(resp *http.Response, w *Watchdog) *Body {
	return &Body{limits: &c.limits, watchdog: w, resp: resp}
}

// MediaType returns the media type of the answer with its parameters, and
// application/octet-stream when it does not say. A coding was not asked for,
// and its bytes would pass for text.
func (b *Body) MediaType() (mediaType string, params map[string]string, err error) {
	if coding := b.resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return "", nil, backend.Failed("The agent's answer is compressed, which the sidecar did not accept", nil)
	}
	mediaType, params, err = mime.ParseMediaType(b.resp.Header.Get("Content-Type"))
	if err != nil {
		return "application/octet-stream", nil, nil //nolint:nilerr // that is what RFC 9110 says it is
	}
	return mediaType, params, nil
}

// Read implements io.Reader, within the bounds.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.resp.Body.Read(p)
	if b.read += int64(n); b.read > b.limits.MaxAnswer {
		return 0, backend.Failed(fmt.Sprintf("The agent's answer exceeds %d bytes", b.limits.MaxAnswer), nil)
	}
	if n > 0 {
		b.watchdog.RecordActivity()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, &connectionLostError{backend.Interrupted("The agent's answer broke off", err)}
	}
	return n, err
}

// broken is the failure of an answer whose connection was lost.
type connectionLostError struct{ *backend.TurnError }

func (b *connectionLostError) Unwrap() error { return b.TurnError }

// BrokeOff reports whether an answer ended because its connection was lost.
func ConnectionLost(err error) bool {
	_, ok := errors.AsType[*connectionLostError](err)
	return ok
}

// Limit bounds one event.
func (b *Body) MaxEvent() int { return b.limits.MaxEvent }

// AtEnd reports whether all that the answer announced was read.
func (b *Body) AtEnd() bool { return b.read == b.resp.ContentLength }

// Whole reads an answer that is one thing.
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

// UpTo reads to the end, and tells whether that came within the limit.
func (b *Body) ReadUpTo(limit int) (text []byte, fits bool, err error) {
	if length := b.resp.ContentLength; length >= 0 && length <= int64(min(limit, maxPreallocated)) {
		text = make([]byte, length)
		n, err := io.ReadFull(b, text)
		return text[:n], true, err
	}
	text, err = io.ReadAll(io.LimitReader(b, int64(limit)+1))
	return text, len(text) <= limit, err
}

// Framed reports whether the framing of the body tells its end from a broken
// connection.
func (b *Body) HasFraming() bool {
	return b.resp.ContentLength >= 0 || len(b.resp.TransferEncoding) > 0 || b.resp.ProtoMajor > 1
}

// Farewell reads to the near end of an answer of which no more is wanted, so
// that the connection can be used again.
func (b *Body) DiscardRest() {
	closing := time.AfterFunc(maxDiscardTime, func() { b.watchdog.cancel(nil) })
	defer closing.Stop()
	discard(b.resp.Body)
}

func discard(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, maxDiscard)
}
