// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bindingtest

import (
	"net/http/httptest"
	"sync"
)

// Stalled is the response to a client that does not read: each Write waits until Read is
// called.
type Stalled struct {
	*httptest.ResponseRecorder
	// Writing is closed when the first Write begins.
	Writing chan struct{}

	begin, read sync.Once
	reads       chan struct{}
}

// NewStalled returns a Stalled.
func NewStalled() *Stalled {
	return &Stalled{ResponseRecorder: httptest.NewRecorder(), Writing: make(chan struct{}), reads: make(chan struct{})}
}

// Write implements http.ResponseWriter.
func (s *Stalled) Write(p []byte) (int, error) {
	s.begin.Do(func() { close(s.Writing) })
	<-s.reads
	return s.ResponseRecorder.Write(p)
}

// Read lets all writes continue. It may be called more than once.
func (s *Stalled) Read() { s.read.Do(func() { close(s.reads) }) }
