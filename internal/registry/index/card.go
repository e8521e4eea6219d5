// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Card is the public card of an agent as its sidecar serves it at the agent's
// Service; both render it from the sidecar configuration. It has no interfaces for
// callers outside of the cluster and no signatures.
type Card struct {
	// source is the digest of the sidecar configuration that the card is from.
	source string
	// model is the public part of the card.
	model card.Card
	// digest equals status.cardDigest of the Agent.
	digest    string
	union, v1 Rendering
}

// Rendering is a card in one form. Body must not be modified.
type Rendering struct {
	Body []byte
	ETag string
}

// NewCard renders a card for the given bases of interfaces. source is the digest
// of the sidecar configuration that has it.
func NewCard(c card.Card, bases []card.Base, source string) (*Card, error) {
	union, err := card.Render(&c, card.FormUnion)
	if err != nil {
		return nil, fmt.Errorf("render union card: %w", err)
	}
	v1, err := card.Render(&c, card.FormV10)
	if err != nil {
		return nil, fmt.Errorf("render card of 1.0: %w", err)
	}
	name, err := card.Digest(&c, bases...)
	if err != nil {
		return nil, fmt.Errorf("digest card: %w", err)
	}
	return &Card{source: source, model: *c.Public(), digest: name, union: newRendering(union), v1: newRendering(v1)}, nil
}

func newRendering(body []byte) Rendering {
	sum := sha256.Sum256(body)
	return Rendering{Body: body, ETag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// ForVersion returns the rendering for the A2A-Version header of a request: the form
// of 1.0 for 1.x, and the union card, which all versions can read, for any other value.
func (r *Card) ForVersion(version string) *Rendering {
	if major, _, _ := strings.Cut(strings.TrimSpace(version), "."); major == "1" {
		return &r.v1
	}
	return &r.union
}
