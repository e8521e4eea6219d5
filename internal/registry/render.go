// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// renderings are the public card as the agent's sidecar serves it to callers of
// the agent's Service: both make it from the contract. An agent that is exposed
// has other interfaces for callers from outside, which the registry does not
// show: who reads the registry is in the cluster. What is signed is signed by the sidecar alone,
// which has the key.
type renderings struct {
	// contract is the digest of the contract that the card stands in.
	contract string
	// model holds what everybody may see.
	model card.Card
	// digest is what status.cardDigest of the Agent says.
	digest    string
	union, v1 rendering
}

type rendering struct {
	body []byte
	etag string
}

// render makes what a contract has the sidecar serve.
func render(c card.Card, bases []card.Base, contractDigest string) (*renderings, error) {
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
		return nil, fmt.Errorf("name card: %w", err)
	}
	return &renderings{
		contract: contractDigest, model: *c.Public(), digest: name,
		union: newRendering(union), v1: newRendering(v1),
	}, nil
}

func newRendering(body []byte) rendering {
	sum := sha256.Sum256(body)
	return rendering{body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// forVersion picks the rendering for the A2A-Version header of a request: 1.x
// reads its own form only, everybody else the union of all.
func (r *renderings) forVersion(version string) *rendering {
	if major, _, _ := strings.Cut(strings.TrimSpace(version), "."); major == "1" {
		return &r.v1
	}
	return &r.union
}
