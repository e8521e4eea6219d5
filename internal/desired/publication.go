// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// publicationOf describes the card of an encoded sidecar configuration.
func publicationOf(config *sidecarconfig.Config, encoded []byte) (Publication, error) {
	digest, err := card.Digest(&config.Card, config.Bases...)
	if err != nil {
		return Publication{}, err
	}
	return Publication{
		CardDigest:   digest,
		ConfigDigest: sidecarconfig.Digest(encoded),
		Skills:       int32(len(config.Card.Skills)), //nolint:gosec // sidecarconfig.MaxSize bounds the number
	}, nil
}
