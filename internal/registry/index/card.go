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

// Rendering is a card in one form.
type Rendering struct {
	Body []byte
	ETag string
}

// Card renders the agent's card in the form for version, the A2A-Version header of a request:
// the form of 1.0 for 1.x, and the union card, which clients of all versions can read, for
// any other value. The sidecar serves the same card at the agent's Service. sign returns the
// signatures of the card. With a nil sign, and for a remote agent, Card adds no signatures.
// Card returns nil if the agent has no card.
func (e *Entry) Card(version string, sign func(*card.Card) ([]card.Signature, error)) (*Rendering, error) {
	if e.source.Text == "" {
		return nil, nil
	}
	p, err := e.source.decode()
	if err != nil {
		return nil, err
	}
	form := card.FormUnion
	if major, _, _ := strings.Cut(strings.TrimSpace(version), "."); major == "1" {
		form = card.FormV10
	}
	var signatures []card.Signature
	if sign != nil && !e.source.Remote {
		if signatures, err = sign(&p.Card); err != nil {
			return nil, err
		}
	}
	body, err := card.Render(&p.Card, form, signatures...)
	if err != nil {
		return nil, fmt.Errorf("render card: %w", err)
	}
	sum := sha256.Sum256(body)
	return &Rendering{Body: body, ETag: `"` + hex.EncodeToString(sum[:16]) + `"`}, nil
}
