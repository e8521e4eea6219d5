// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess has an http.RoundTripper that calls an http.Handler in the same process.
// Streams, back-pressure and cancellation work as over a connection, but no socket is used.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport sends requests to a Handler. It is safe for concurrent use.
type Transport struct {
	Handler http.Handler
}

var _ http.RoundTripper = (*Transport)(nil)

type sentKey struct{}

// Sent reports whether ctx belongs to a request that a Transport has sent.
func Sent(ctx context.Context) bool { return ctx.Value(sentKey{}) != nil }

// errHandlerFailed is the error that a reader of the response's body gets if the handler panics.
// A net/http server would close the connection instead.
var errHandlerFailed = fmt.Errorf("handler failed: %w", io.ErrUnexpectedEOF)

// RoundTrip implements http.RoundTripper. It returns the response as soon as the handler has
// written the header. The handler continues to run, and its writes block until the caller reads
// the body. Closing the body cancels the context of the handler's request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	in := r.Clone(context.WithValue(ctx, sentKey{}, true))
	in.RemoteAddr = "127.0.0.1:0"
	in.RequestURI = r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	reader, writer := io.Pipe()
	w := &responseWriter{header: http.Header{}, body: writer, begun: make(chan struct{})}
	go func() {
		defer cancel()
		writer.CloseWithError(serve(t.Handler, w, in))
	}()
	select {
	case <-w.begun:
		return w.response(r, &body{PipeReader: reader, cancel: cancel}), nil
	case <-r.Context().Done():
		cancel()
		_ = reader.Close()
		return nil, context.Cause(r.Context())
	}
}

// serve runs the handler. It returns an error if the handler panics. Handlers panic with
// http.ErrAbortHandler to abort a response that they cannot finish.
func serve(h http.Handler, w *responseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errHandlerFailed
			if cause, ok := p.(error); !ok || !errors.Is(cause, http.ErrAbortHandler) {
				err = fmt.Errorf("%w: panic: %v", errHandlerFailed, p)
			}
		}
		// If the handler has panicked before it wrote a header, the response has the status 200
		// and a body that ends with err.
		w.WriteHeader(http.StatusOK)
	}()
	h.ServeHTTP(w, r)
	return nil
}

// responseWriter is the http.ResponseWriter of the handler. It does not support deadlines: no
// network is involved, and the caller limits the duration of its call.
type responseWriter struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	begun  chan struct{}
	// status and sent are valid after begun is closed.
	status int
	sent   http.Header
}

func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. It ignores informational responses and all
// calls after the first.
func (w *responseWriter) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	w.once.Do(func() {
		w.status = status
		w.sent = w.header.Clone()
		close(w.begun)
	})
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush writes the header, if it is not written yet. The body is never buffered.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *responseWriter) response(r *http.Request, b io.ReadCloser) *http.Response {
	length := int64(-1)
	if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil {
		length = n
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: b, ContentLength: length, Request: r,
	}
}

// body is the body of the response that the caller receives.
type body struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close cancels the context of the handler's request.
func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
