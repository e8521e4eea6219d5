// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command proxy is the peer of all that a sidecar relays: the standard
// library's reverse proxy in front of an agent that answers in A2A itself.
package main

import (
	"flag"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

func main() {
	agent := flag.String("agent", "", "`URL` of the agent")
	process.Serve(func() http.Handler {
		target, err := url.Parse(*agent)
		if err != nil {
			log.Fatal(err)
		}
		// As fast as it can be made: its buffers and connections are kept.
		relay := &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.URL.Path = "/ready"
			},
			Transport:     &http.Transport{MaxIdleConnsPerHost: 1 << 12, DisableCompression: true},
			FlushInterval: -1,
			BufferPool:    &buffers{},
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Otherwise the server closes the request's body when the answer
			// begins, and the transport, which has yet to see the body's end,
			// gives up the connection: a stream in thousands is cut off.
			_ = http.NewResponseController(w).EnableFullDuplex()
			relay.ServeHTTP(w, r)
		})
	})
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
