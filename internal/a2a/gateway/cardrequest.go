// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// cardRequest is how a request asks for a card.
type cardRequest int

const (
	// cardNone is a request for something else.
	cardNone cardRequest = iota
	// cardByGet is answered with the card.
	cardByGet
	// cardByRPC is answered with the card as the result of JSON-RPC.
	cardByRPC
)

// maxCardRequest bounds the JSON-RPC requests that are searched for their method,
// in bytes. A request for the extended card names little more than its method.
const maxCardRequest = 16 << 10

// asksForCard tells how a request asks for the agent's public or extended card. It
// reads the first maxCardRequest bytes of a JSON-RPC request and puts them back. An
// error says that the body ended early.
func (w *way) asksForCard(r *http.Request) (cardRequest, error) {
	switch {
	case w.base == "":
		return cardNone, nil
	case r.Method == http.MethodGet:
		if isCardPath(w.target.EscapedPath()) {
			return cardByGet, nil
		}
		return cardNone, nil
	case r.Method != http.MethodPost || w.target.Path != "/" || r.Body == nil || r.ContentLength > maxCardRequest:
		return cardNone, nil
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, maxCardRequest+1))
	if err != nil {
		return cardNone, errors.New("request body is incomplete")
	}
	if len(head) > maxCardRequest {
		r.Body = putBack(head, r.Body)
		return cardNone, nil
	}
	// The server closes its body once the answer begins, and the transport, which
	// may read the end of the request after that, would break the answer off.
	r.Body = io.NopCloser(bytes.NewReader(head))
	if isCardMethod(methodOf(head)) {
		return cardByRPC, nil
	}
	return cardNone, nil
}

// isCardPath reports whether GET of an escaped path is answered with a card: the
// public one, or, at the paths of 0.2, 0.3 and 1.0, the extended one, of a tenant too.
func isCardPath(path string) bool {
	if strings.HasPrefix(path, "/.well-known/agent") || path == "/agent/authenticatedExtendedCard" {
		return true
	}
	rest, legacy := strings.CutPrefix(path, "/v1/")
	name := "card"
	if !legacy {
		rest, name = strings.TrimPrefix(path, "/"), "extendedAgentCard"
	}
	tenant, last, ok := strings.Cut(rest, "/")
	if !ok {
		return rest == name
	}
	return last == name && tenant != "tasks"
}

// isCardMethod reports whether a method of JSON-RPC is answered with a card, by its
// names of 1.0 and 0.3.
func isCardMethod(method string) bool {
	return method == "GetExtendedAgentCard" || method == "agent/getAuthenticatedExtendedCard"
}

// methodOf returns the method of a JSON-RPC request; "" when there is none.
func methodOf(body []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	if !enter(d, "method") || d.PeekKind() != '"' {
		return ""
	}
	method, err := d.ReadToken()
	if err != nil {
		return ""
	}
	return method.String()
}

// putBack returns a body that begins with what was read of it.
func putBack(head []byte, body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
}
