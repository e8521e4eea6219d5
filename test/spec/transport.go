// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Transport validates every response that a client receives: cards, results, errors
// and the events of streams. It is safe for concurrent use.
type Transport struct {
	base http.RoundTripper
	tb   testing.TB

	mu   sync.Mutex
	seen map[string]int
}

// NewTransport returns a Transport that sends by base. An invalid response fails the
// test.
func NewTransport(tb testing.TB, base http.RoundTripper) *Transport {
	tb.Helper()
	return &Transport{base: base, tb: tb, seen: map[string]int{}}
}

// Seen returns the number of validated documents by the name of their form.
func (v *Transport) Seen() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.seen)
}

// RoundTrip implements http.RoundTripper.
func (v *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		return v.base.RoundTrip(r) // not validated: a gRPC client decodes with the official stubs
	}
	asked := exchange{method: r.Method, path: r.URL.EscapedPath(), version: r.Header.Get("A2A-Version")}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
		asked.body = body
		r = r.Clone(r.Context())
		r.Body, r.GetBody = io.NopCloser(bytes.NewReader(body)), nil
	}
	response, err := v.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	asked.status, asked.contentType = response.StatusCode, response.Header.Get("Content-Type")
	response.Body = &recorder{ReadCloser: response.Body, exchange: asked, transport: v}
	return response, nil
}

// recorder copies a body while the client reads it, and validates the copy at the end of the body.
type recorder struct {
	io.ReadCloser
	exchange  exchange
	transport *Transport
	text      bytes.Buffer
	once      sync.Once
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.text.Write(p[:n])
	if err != nil {
		r.once.Do(func() { r.transport.check(&r.exchange, r.text.Bytes(), err == io.EOF) })
	}
	return n, err
}

func (r *recorder) Close() error {
	r.once.Do(func() {
		whole := false
		if !r.exchange.isStream() { // read the rest that the client has not read, to validate the whole body
			_, err := io.Copy(&r.text, r.ReadCloser)
			whole = err == nil
		}
		r.transport.check(&r.exchange, r.text.Bytes(), whole)
	})
	return r.ReadCloser.Close()
}

// check validates a body, or the complete events of a stream. It skips an empty body and,
// with whole false, an incomplete body.
func (v *Transport) check(e *exchange, text []byte, whole bool) {
	documents := [][]byte{text}
	if e.isStream() {
		documents = events(text)
	} else if !whole || len(text) == 0 {
		return
	}
	for _, document := range documents {
		form, err := e.validate(document)
		v.mu.Lock()
		v.seen[form]++
		v.mu.Unlock()
		if err != nil {
			v.tb.Errorf("%s %s %.300s\nhas a response with status %d and\n%.2000s\nwhich is not valid: %v",
				e.method, e.path, e.body, e.status, document, err)
		}
	}
}

// events returns the data of the complete events of a stream.
func events(text []byte) [][]byte {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	blocks := bytes.Split(text, []byte("\n\n"))
	var out [][]byte
	for _, block := range blocks[:len(blocks)-1] {
		var data []byte
		for line := range bytes.SplitSeq(block, []byte("\n")) {
			if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
			}
		}
		if len(data) > 0 {
			out = append(out, data)
		}
	}
	return out
}
