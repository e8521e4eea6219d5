// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pagedlist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// MaxBody is the number of bytes of the largest encoded page of more than one object. A page then needs no more memory than one object
	// may need: the API server stores objects of 1.5 MiB, which decode to 24 times their size (an empty rule of a NetworkPolicy has 2 bytes,
	// and decodes to 48).
	MaxBody = 3 << 19
	// maxObject is the number of bytes of the largest encoded object that is read: JSON may need six times the bytes that are stored.
	maxObject = 8 << 20
	// smallBody is the number of bytes of the largest answer that several callers may decode at a time.
	smallBody = 128 << 10
	// maxAnswer is the number of bytes of the largest answer about objects of a namespace, unless the request is one of Size.Read, Get or
	// Each. It has room for the metadata of an object: its annotations have at most 256 KiB.
	maxAnswer = 512 << 10
)

// ErrTooLarge is the error for an answer that Bound refuses.
var ErrTooLarge = errors.New("the answer of the API server is too large")

// Size adapts the number of objects in the pages of a list to the sizes of the objects, so that a page has at most MaxBody bytes, or
// one object. The HTTP client must have the transport Bound.
type Size struct {
	most int
	next int
}

// NewSize returns a Size for pages of at most the given number of objects.
func NewSize(most int) *Size { return &Size{most: most, next: most} }

// Read calls read for a page of no more than most objects, and calls it again with a smaller limit while the page is too large. read
// must send one request with the context and the limit that it gets.
func (s *Size) Read(ctx context.Context, most int, read func(ctx context.Context, limit int) error) error {
	_, err := s.read(ctx, most, maxObject, read)
	return err
}

// read is like Read, and returns at once if the page has more than bound bytes and bound is less than MaxBody.
func (s *Size) read(ctx context.Context, most, bound int, read func(ctx context.Context, limit int) error) (isTooLarge bool, err error) {
	for {
		limit := min(s.next, most)
		a := &answer{most: bound}
		if limit > 1 {
			a.most = min(bound, MaxBody)
		}
		err := read(a.in(ctx), limit)
		if a.isTooLarge && limit > 1 && bound > MaxBody {
			s.next = max(1, limit/4)
			continue
		}
		if err == nil && limit == s.next && a.size <= MaxBody/2 {
			s.next = min(s.most, 2*limit)
		}
		return a.isTooLarge, err
	}
}

// answerKey is the key of the *answer in the context of a request.
type answerKey struct{}

// answer describes the answer to a request. It has size bytes, and no more than most of them are read.
type answer struct {
	most       int
	isTooLarge bool
	size       int
}

func (a *answer) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// Bound returns a transport for requests to the API server that refuses large answers with ErrTooLarge: those with more bytes than the
// requests of this package allow, and all others about objects of a namespace with more than maxAnswer bytes. It reads no more of them, and
// the client decodes nothing of them. Of the large events of all watches, it passes on one at a time (see events).
func Bound(next http.RoundTripper) http.RoundTripper { return bound{next} }

// largeEvents has an element while a watch passes on a large event.
var largeEvents = make(chan struct{}, 1)

type bound struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bound) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return response, err
	}
	if r.URL.Query().Get("watch") == "true" {
		kind := response.Header.Get("Content-Type")
		if isJSON := strings.HasPrefix(kind, "application/json"); isJSON || strings.HasPrefix(kind, "application/vnd.kubernetes.protobuf") {
			response.Body = newEvents(r.Context(), response.Body, isJSON, largeEvents)
		}
		return response, nil
	}
	a, isBounded := r.Context().Value(answerKey{}).(*answer)
	if !isBounded {
		// The client decodes nothing of the answer to a deletion.
		if r.Method == http.MethodDelete || !strings.Contains(r.URL.Path, "/namespaces/") {
			return response, nil
		}
		a = &answer{most: maxAnswer}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(a.most)+1))
	if err != nil {
		return nil, err
	}
	a.size = len(body)
	if a.size > a.most {
		a.isTooLarge = true
		return nil, fmt.Errorf("%w: it has more than %d KiB", ErrTooLarge, a.most>>10)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// WrappedRoundTripper returns the wrapped transport; client-go looks for it.
func (b bound) WrappedRoundTripper() http.RoundTripper { return b.next }
