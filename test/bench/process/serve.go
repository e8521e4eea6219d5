// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"flag"
	"log"
	"net/http"
	"time"
)

// Serve is main of a server that Start runs: it parses the flags, to which it
// adds --listen, and serves what open makes of them.
func Serve(open func() http.Handler) {
	address := flag.String("listen", "127.0.0.1:0", "`address` of the server")
	flag.Parse()
	server := &http.Server{Addr: *address, Handler: open(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
