// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// past is what an API server shows whose watch cache is behind: the cluster as
// it was at some version, and no more until that is over. What is read past
// the cache, and what is written, meets the cluster as it is.
type past struct {
	version string
	// resources are those that are behind; empty means all.
	resources []string
	over      chan struct{}
	once      sync.Once
}

func newPast(version string, resources ...string) *past {
	return &past{version: version, resources: resources, over: make(chan struct{})}
}

// end lets the operator see what has happened since.
func (p *past) end() { p.once.Do(func() { close(p.over) }) }

func (p *past) about(r *http.Request) bool {
	for _, resource := range p.resources {
		if strings.HasSuffix(r.URL.Path, "/"+resource) {
			return true
		}
	}
	return len(p.resources) == 0
}

// ask turns the list that an informer begins with into one of the past. It is
// nil for a watch that is to begin with a list: the API server may say that it
// does not know such, and then the informer lists.
func (p *past) ask(r *http.Request) *http.Request {
	query := r.URL.Query()
	if r.Method != http.MethodGet || !p.about(r) {
		return r
	}
	if isWatch(r) {
		if query.Get("sendInitialEvents") == "true" {
			return nil
		}
		return r
	}
	select {
	case <-p.over:
		return r
	default:
	}
	if !query.Has("resourceVersion") && !query.Has("limit") {
		return r
	}
	query.Set("resourceVersion", p.version)
	query.Set("resourceVersionMatch", "Exact")
	query.Del("limit")
	old := r.Clone(r.Context())
	old.URL.RawQuery = query.Encode()
	return old
}

// held is a stream of which nothing arrives for a time.
type held struct {
	io.ReadCloser
	until <-chan struct{}
}

// Read implements io.Reader.
func (h *held) Read(p []byte) (int, error) {
	<-h.until
	return h.ReadCloser.Read(p)
}
