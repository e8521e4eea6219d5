// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// extendedCard answers with the card for known callers. Since it differs from
// one to the other, no cache may keep it for others.
func (h *Handler) extendedCard(c *call) error {
	var tenant string
	var malformed error
	if c.dialect == dialectV10 {
		tenant, malformed = protojson.V10.DecodeExtendedCard(c.params())
	}
	// Whether there is such a card comes before what is wrong with the params.
	text, err := h.ExtendedCard(c.R, tenant, c.dialect.cardForm)
	if err != nil {
		return c.noExtendedCard(err)
	}
	if malformed != nil {
		return malformed
	}
	httpcall.SetPrivate(c.W.Header())
	return c.result(len(text), func(dst []byte) []byte { return append(dst, text...) })
}

// noExtendedCard says in the client's version that there is no such card. 1.0
// tells one that is not offered from one that is missing; 0.3 has one code for
// both, and 0.2 has not even that.
func (c *call) noExtendedCard(err error) error {
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok || c.dialect == dialectV10 {
		return err
	}
	switch problem.Reason {
	case a2a.ReasonUnsupportedOperation, a2a.ReasonExtendedCardNotConfigured:
		if c.asked == version.V02 {
			return &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
		}
		return &a2a.Error{Reason: a2a.ReasonExtendedCardNotConfigured}
	default:
		return err
	}
}
