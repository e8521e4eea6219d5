// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"flag"
	"log"
	"net/http"
	"time"
)

// Serve is the main function of a server for Start: it adds the flag --listen, parses the flags, and serves the
// handler that open returns.
func Serve(open func() http.Handler) {
	address := flag.String("listen", "127.0.0.1:0", "`address` of the server")
	flag.Parse()
	server := &http.Server{Addr: *address, Handler: open(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
