// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pagedlist

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

// MaxBody is the number of bytes of the largest encoded page of more than one object. An encoded object may decode to 30 times its size
// (an empty rule of a NetworkPolicy has 2 bytes, and decodes to 48), so a page needs at most about 64 MiB. One object needs less: the API
// server stores at most 1.5 MB.
const MaxBody = 2 << 20

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
	for {
		limit := min(s.next, most)
		p := &pageBody{isBounded: limit > 1}
		err := read(context.WithValue(ctx, pageKey{}, p), limit)
		if p.isTooLarge {
			s.next = max(1, limit/4)
			continue
		}
		if err == nil && limit == s.next && p.size <= MaxBody/2 {
			s.next = min(s.most, 2*limit)
		}
		return err
	}
}

// pageKey is the key of the *pageBody in the context of a request for a page.
type pageKey struct{}

// pageBody is the body of the response to a request for a page.
type pageBody struct {
	isBounded  bool
	isTooLarge bool
	size       int
}

var errTooLarge = errors.New("the page of a list is too large")

// Bound returns a transport that refuses responses to the requests of Size.Read with more than MaxBody bytes. It reads no more of them,
// and the client decodes nothing of them.
func Bound(next http.RoundTripper) http.RoundTripper { return bound{next} }

type bound struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bound) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	p, ok := r.Context().Value(pageKey{}).(*pageBody)
	if err != nil || !ok || response.StatusCode != http.StatusOK {
		return response, err
	}
	if !p.isBounded {
		response.Body = &counted{ReadCloser: response.Body, page: p}
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > MaxBody {
		p.isTooLarge = true
		return nil, errTooLarge
	}
	p.size = len(body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// WrappedRoundTripper returns the wrapped transport; client-go looks for it.
func (b bound) WrappedRoundTripper() http.RoundTripper { return b.next }

// counted counts the bytes of the body of a page of one object.
type counted struct {
	io.ReadCloser
	page *pageBody
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	c.page.size += n
	return n, err
}
