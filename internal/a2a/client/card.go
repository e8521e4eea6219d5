// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// MaxCard bounds a card, in bytes.
const MaxCard = 1 << 20

// ErrCardTooLarge is the error of a card of more than MaxCard bytes.
var ErrCardTooLarge = errors.New("the card exceeds " + strconv.Itoa(MaxCard) + " bytes")

// NoCardError is the error of a URL that serves no card.
type NoCardError struct {
	URL    *url.URL
	Status int
	// Excerpt is an excerpt of the body, see backend.Excerpt; "" if the body has no text or JSON.
	Excerpt string
}

// Error returns the path and the status, for the log.
func (n *NoCardError) Error() string {
	return "GET " + n.URL.EscapedPath() + " returned " + strconv.Itoa(n.Status)
}

// Rank returns how well a response explains why there is no card. A higher rank is better: 0 for a 404, 1 for another
// status, and 2 for another status with an excerpt of the body.
func (n *NoCardError) Rank() int {
	switch {
	case n.Status == http.StatusNotFound:
		return 0
	case n.Excerpt == "":
		return 1
	default:
		return 2
	}
}

// ResolveCard reads the card of an agent from the first of several URLs that serves one, and returns its text and this
// URL. header is added to each request. If no URL serves a card, the error is the first *NoCardError of the highest
// rank, because later URLs are guesses. Its other errors are ErrCardTooLarge and those of stream.Client.
func ResolveCard(ctx context.Context, h *stream.Client, places []*url.URL, header http.Header) (text []byte, at *url.URL, err error) {
	var refusal *NoCardError
	for _, u := range places {
		text, err := fetchCard(ctx, h, u, header)
		missing, isMissing := errors.AsType[*NoCardError](err)
		if !isMissing {
			return text, u, err
		}
		if refusal == nil || missing.Rank() > refusal.Rank() {
			refusal = missing
		}
	}
	return nil, nil, refusal
}

func fetchCard(ctx context.Context, h *stream.Client, u *url.URL, header http.Header) ([]byte, error) {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header["Accept"] = []string{"application/json"}
	delete(header, "Content-Type")
	// With this version, a server that has a card for each version returns the latest one.
	header[http.CanonicalHeaderKey(version.Name)] = []string{version.V10.String()}
	resp, err := h.Do(ctx, &stream.Request{Method: http.MethodGet, URL: u, Header: header})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body := h.NewBody(resp, nil)
	if !stream.IsSuccess(resp.StatusCode) {
		return nil, &NoCardError{URL: u, Status: resp.StatusCode, Excerpt: excerpt(body)}
	}
	if _, _, err := body.MediaType(); err != nil {
		return nil, err
	}
	text, fits, err := body.ReadUpTo(MaxCard)
	if err == nil && !fits {
		err = ErrCardTooLarge
	}
	return text, err
}

// excerpt returns an excerpt of the body of an error response, "" if the body has no
// media type of text or JSON, or cannot be read.
func excerpt(body *stream.Body) string {
	mediaType, _, err := body.MediaType()
	if err != nil || mediaType != "application/json" && mediaType != "application/problem+json" && mediaType != "text/plain" {
		return ""
	}
	text, fits, err := body.ReadUpTo(maxErrorBody)
	if err != nil || !fits {
		return ""
	}
	return backend.Excerpt(text)
}
