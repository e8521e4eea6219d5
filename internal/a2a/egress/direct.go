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

// maxDirect bounds the body of a direct request, in bytes.
const maxDirect = 16 << 10

// short reports whether a request has no body, or one of at most maxDirect bytes. HEAD
// and CONNECT are not short: their answers need the rules of net/http.
func short(r *http.Request) bool {
	return r.ContentLength >= 0 && r.ContentLength <= maxDirect && (r.ContentLength > 0 || r.Body == nil || r.Body == http.NoBody) &&
		r.Method != http.MethodHead && r.Method != http.MethodConnect
}

// direct returns a client without the goroutines of an http.Transport, which cost more
// than the rest of a push notification.
func (g *Guard) direct(p *Policy) *http1.Client {
	return http1.New(http1.Options{
		Connect: g.options.ConnectTimeout,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.dial(ctx, network, address, p, true)
		},
		MaxIdle: max(maxIdle, g.options.MaxIdle), Idle: g.options.IdleTimeout, MaxHeader: maxHeaderBytes,
		Now: time.Now, //nolint:forbidigo // the clock of the machine, as in net/http
	})
}

// call sends a short request to a URL that check has allowed.
func (c *clients) call(r *http.Request, to *url.URL) (*http.Response, error) {
	var body []byte
	if r.ContentLength > 0 {
		body = make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		closeBody(r)
		if err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
	} else if r.Method == http.MethodPost {
		body = []byte{} // sends Content-Length: 0
	}
	response, err := c.direct.Do(r.Context(), &http1.Request{Method: r.Method, URL: to, Header: r.Header, Body: body})
	if err != nil {
		return nil, fmt.Errorf("call target: %w", err)
	}
	response.Request = r
	return response, nil
}
