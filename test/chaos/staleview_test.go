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

// staleView is a stale watch cache of the API server: lists and watches show the cluster at an older
// version until it ends. Live reads and writes see the current state.
type staleView struct {
	version string
	// resources lists the resources that are stale; empty means all.
	resources []string
	over      chan struct{}
	once      sync.Once
	// shown holds the paths of the stale lists.
	shown sync.Map
}

func newStaleView(version string, resources ...string) *staleView {
	return &staleView{version: version, resources: resources, over: make(chan struct{})}
}

// end makes the current state visible.
func (p *staleView) end() { p.once.Do(func() { close(p.over) }) }

func (p *staleView) about(r *http.Request) bool {
	return len(p.resources) == 0 || of(r, p.resources...)
}

// of reports whether a request lists or watches all objects of one of the resources.
func of(r *http.Request, resources ...string) bool {
	for _, resource := range resources {
		if strings.HasSuffix(r.URL.Path, "/"+resource) {
			return true
		}
	}
	return false
}

// unseen returns the resources of which the operator has not received a stale list. If all resources are stale, unseen
// considers four that the operator always lists.
func (p *staleView) unseen() []string {
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

// begins reports whether a request is the first list of an informer. Such a list has a limit or a resource version. The
// first list of Agents or AgentSkills has neither (internal/operator/informercache). A live read has neither, too, but it names
// one object.
func begins(r *http.Request) bool {
	query := r.URL.Query()
	return query.Has("resourceVersion") || query.Has("limit") || of(r, "agents", "agentskills") && !query.Has("fieldSelector")
}

// ask turns the first list of an informer into a stale one. It returns nil for a watch that begins
// with a list: the API server may answer that it does not support such watches, and the informer
// then sends a list request.
func (p *staleView) ask(r *http.Request) *http.Request {
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

// held is a stream that delivers nothing for a time.
type held struct {
	io.ReadCloser
	until <-chan struct{}
}

// Read implements io.Reader.
func (h *held) Read(p []byte) (int, error) {
	<-h.until
	return h.ReadCloser.Read(p)
}
