// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"io"
	"net/http"
	"slices"
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
	// shown are the paths of the lists that were of the past.
	shown sync.Map
}

func newPast(version string, resources ...string) *past {
	return &past{version: version, resources: resources, over: make(chan struct{})}
}

// end lets the operator see what has happened since.
func (p *past) end() { p.once.Do(func() { close(p.over) }) }

func (p *past) about(r *http.Request) bool {
	return len(p.resources) == 0 || of(r, p.resources...)
}

// of tells whether a request is about all objects of one of some resources.
func of(r *http.Request, resources ...string) bool {
	for _, resource := range resources {
		if strings.HasSuffix(r.URL.Path, "/"+resource) {
			return true
		}
	}
	return false
}

// unseen are those resources of which no list of the past was shown. Of all,
// these are some that the operator never goes without.
func (p *past) unseen() []string {
	resources := p.resources
	if len(resources) == 0 {
		resources = []string{"agents", "agentskills", "deployments", "configmaps"}
	}
	return slices.DeleteFunc(slices.Clone(resources), func(resource string) bool {
		seen := false
		p.shown.Range(func(path, _ any) bool {
			seen = strings.HasSuffix(path.(string), "/"+resource)
			return !seen
		})
		return seen
	})
}

// begins tells of a list that an informer begins with. Of the operator's own
// kinds it says neither how much nor how old (internal/operator/listed.go), as
// a question past the cache does, which is about one object.
func begins(r *http.Request) bool {
	query := r.URL.Query()
	return query.Has("resourceVersion") || query.Has("limit") || of(r, "agents", "agentskills") && !query.Has("fieldSelector")
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
	if !begins(r) {
		return r
	}
	p.shown.Store(r.URL.Path, nil)
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
