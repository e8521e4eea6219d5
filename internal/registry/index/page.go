// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"strconv"
)

// Page is one page of matches.
type Page struct {
	Entries []*Entry
	// Total counts the matches on all pages.
	Total int
	// More is true if matches follow the last of Entries.
	More bool
	// size is the sum of the sizes of the bodies of Entries.
	size int
}

// ETag returns a value that identifies the bytes of Body.
func (p *Page) ETag() string {
	var names bytes.Buffer
	for _, e := range p.Entries {
		names.WriteString(e.digest)
	}
	names.WriteString(p.tail())
	return `"` + digest(names.Bytes()) + `"`
}

// Body returns the page as JSON.
func (p *Page) Body() []byte {
	const head = `{"items":[`
	tail := p.tail()
	body := append(make([]byte, 0, len(head)+p.size+len(p.Entries)+len(tail)), head...)
	for i, e := range p.Entries {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, e.body...)
	}
	return append(body, tail...)
}

// tail returns the part of the body after the items.
func (p *Page) tail() string {
	next := ""
	if p.More {
		next = cursorAfter(p.Entries[len(p.Entries)-1].Key)
	}
	return `],"nextCursor":"` + next + `","total":` + strconv.Itoa(p.Total) + "}\n"
}
