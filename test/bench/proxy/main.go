// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command proxy is the peer for everything that a sidecar relays: the reverse proxy of the standard library in
// front of an agent that answers in A2A.
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
		// Reuse buffers and connections, so that the peer has its best result.
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
			// Without this, the server closes the request's body when the response begins. The transport, which
			// has not read the end of the body, then closes the connection: one stream in thousands is cut.
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
