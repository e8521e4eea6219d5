// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command static is a lower bound for the cost of a response over HTTP: net/http with ready-made responses.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"maps"
	"net/http"
	"os"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

var file = flag.String("responses", "", "`file` of the responses, by path and query")

type response struct {
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

func main() {
	process.Serve(func() http.Handler {
		text, err := os.ReadFile(*file)
		if err != nil {
			log.Fatal(err)
		}
		var responses map[string]response
		if err := json.Unmarshal(text, &responses); err != nil {
			log.Fatal(err)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, ok := responses[r.URL.RequestURI()]
			if !ok {
				http.NotFound(w, r)
				return
			}
			maps.Copy(w.Header(), answer.Header)
			_, _ = w.Write(answer.Body)
		})
	})
}
