// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/exchange"
)

// header is what stands before a message: a flag and its length.
const header = 5

// read takes the whole request off the wire before the library sees it. All
// calls have one message, and what the library says about a bad one has no
// details; also it would read on without a bound.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (release func(), err error) {
	limits := h.Limits
	limits.MaxBody += header
	body, release, err := (&exchange.Exchange{W: w, R: r, Limits: &limits}).Body()
	if err != nil {
		return release, err
	}
	encoding := r.Header.Get("Grpc-Encoding")
	if err := whole(body, encoding != "" && encoding != "identity"); err != nil {
		return release, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return release, nil
}

// whole checks that a body is one message.
func whole(body []byte, mayBeCompressed bool) error {
	if len(body) == 0 {
		return &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "Request message is missing"}
	}
	if len(body) < header || body[0] > 1 || body[0] == 1 && !mayBeCompressed {
		return &a2a.Error{Reason: a2a.ReasonParse, Message: "Request is not framed as gRPC"}
	}
	if length := binary.BigEndian.Uint32(body[1:]); int64(length) != int64(len(body)-header) {
		return &a2a.Error{Reason: a2a.ReasonParse, Message: "Request is not one whole message"}
	}
	return nil
}
