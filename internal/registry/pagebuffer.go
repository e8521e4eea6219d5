// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// maxPageBuffer bounds each buffer that is reused for later pages, in bytes. A page of 50 agents has about 60 KB.
const maxPageBuffer = 256 << 10

// pageBuffers has buffers for pages. Garbage of the size of a page would double the CPU time of searches,
// because it causes garbage collections, and each of them scans the whole index.
var pageBuffers = sync.Pool{New: func() any { return new([]byte) }}

// writePage sends a page as JSON.
func writePage(w http.ResponseWriter, p *index.Page) {
	buffer := pageBuffers.Get().(*[]byte)
	body := p.AppendBody((*buffer)[:0])
	w.Header()["Content-Type"] = typeJSON
	write(w, body) // an http.ResponseWriter retains no reference to the body
	if cap(body) <= maxPageBuffer {
		*buffer = body
		pageBuffers.Put(buffer)
	}
}
