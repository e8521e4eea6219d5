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

// extendedCard responds with the extended card. The card depends on the caller, so no cache
// may store it.
func (h *Handler) extendedCard(c *call) error {
	var tenant string
	var malformed error
	if c.dialect == dialectV10 {
		tenant, malformed = protojson.V10.DecodeExtendedCard(c.params())
	}
	// The error of a missing card takes precedence over invalid params.
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

// noExtendedCard returns the error for a missing extended card in the version of the
// client. 1.0 distinguishes a card that the agent does not offer from one that is not
// configured. 0.3 has one code for both, and 0.2 has none.
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
