// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxBody bounds the body of a request that a transport reads into memory, in bytes.
const maxBody = 16 << 10

// transport sends requests with a short body or none by a Client, and all others by the
// wrapped transport.
type transport struct {
	*http.Transport

	client *Client
}

// Wrap returns a transport that sends requests over http by a Client if the length of their
// body is known and at most 16 KiB, and all others by t. The Client uses the dialer and the
// limits of t, whose MaxIdleConns, IdleConnTimeout and MaxResponseHeaderBytes must be set. t
// must have no Proxy.
func Wrap(t *http.Transport) http.RoundTripper {
	return &transport{Transport: t, client: New(Options{
		Dial: t.DialContext, MaxIdle: t.MaxIdleConns, IdleTimeout: t.IdleConnTimeout, MaxHeader: int(t.MaxResponseHeaderBytes),
		Now: time.Now, //nolint:forbidigo // the clock of the machine, as in net/http
	})}
}

// CloseIdleConnections closes the connections without a request.
func (t *transport) CloseIdleConnections() {
	t.client.CloseIdleConnections()
	t.Transport.CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isShort(r) || !Supports(r.URL) {
		return t.Transport.RoundTrip(r)
	}
	body, err := readBody(r)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	response, err := t.client.Do(r.Context(), &Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: body})
	if err != nil {
		return nil, err
	}
	response.Request = r
	return response, nil
}

// isShort reports whether a Client can send a request, with a body of at most maxBody
// bytes. A Client sends neither HEAD nor CONNECT, whose responses have special rules, nor a
// Host that differs from the URL, a trailer or "Connection: close".
func isShort(r *http.Request) bool {
	bounded := r.ContentLength >= 0 && r.ContentLength <= maxBody && (r.ContentLength > 0 || r.Body == nil || r.Body == http.NoBody)
	return bounded && r.Method != http.MethodHead && r.Method != http.MethodConnect &&
		(r.Host == "" || r.Host == r.URL.Host) && len(r.Trailer) == 0 && len(r.TransferEncoding) == 0 && !r.Close
}

// readBody returns the body of a short request, and nil if the request needs no
// Content-Length.
func readBody(r *http.Request) ([]byte, error) {
	switch {
	case r.ContentLength > 0:
		defer func() { _ = r.Body.Close() }()
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	case r.Method == http.MethodPost:
		return []byte{}, nil
	default:
		return nil, nil
	}
}
