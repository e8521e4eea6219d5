// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// maxPageBuffer bounds the buffers that are kept for later pages, in bytes. A page of 50 agents has about 60 KB.
const maxPageBuffer = 256 << 10

// pageBuffers holds buffers for pages. Garbage of this size at each search would double its CPU time,
// because each garbage collection scans the whole index.
var pageBuffers = sync.Pool{New: func() any { return new([]byte) }}

// writePage sends a page as JSON.
func writePage(w http.ResponseWriter, p *index.Page) {
	buffer := pageBuffers.Get().(*[]byte)
	body := p.AppendBody((*buffer)[:0])
	w.Header().Set("Content-Type", "application/json")
	write(w, body) // a writer keeps no reference to the body
	if cap(body) <= maxPageBuffer {
		*buffer = body
		pageBuffers.Put(buffer)
	}
}
