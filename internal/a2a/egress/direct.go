// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
)

// maxDirect bounds the body of a request that is sent as a whole.
const maxDirect = 16 << 10

// short reports whether a request has a body that is known to be short, or none.
// What its answer is depends on a method that net/http has to know of.
func short(r *http.Request) bool {
	return r.ContentLength >= 0 && r.ContentLength <= maxDirect && (r.ContentLength > 0 || r.Body == nil || r.Body == http.NoBody) &&
		r.Method != http.MethodHead && r.Method != http.MethodConnect
}

// direct calls without the goroutines of a Transport, which cost more than the
// rest of a notification.
func (g *Guard) direct(p *Policy) *http1.Client {
	return http1.New(http1.Options{
		Connect: g.options.ConnectTimeout,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.dial(ctx, network, address, p, true)
		},
		MaxIdle: max(maxIdle, g.options.MaxIdle), Idle: g.options.IdleTimeout, MaxHeader: maxHeaderBytes,
		Now: time.Now, //nolint:forbidigo // of the machine, as net/http's is
	})
}

// call sends a short request to a URL that was judged.
func (e *exit) call(r *http.Request, to *url.URL) (*http.Response, error) {
	var body []byte
	if r.ContentLength > 0 {
		body = make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		closeBody(r)
		if err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
	} else if r.Method == http.MethodPost {
		body = []byte{} // a length that is said
	}
	response, err := e.direct.Do(r.Context(), &http1.Request{Method: r.Method, URL: to, Header: r.Header, Body: body})
	if err != nil {
		return nil, fmt.Errorf("call target: %w", err)
	}
	response.Request = r
	return response, nil
}
