// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// CardSource is the text that contains the public card of an agent: its sidecar
// configuration, or for a remote agent the card itself. Entries store the text, whose
// memory they share with the manager's cache, and render the card for each request.
type CardSource struct {
	Text   string
	Remote bool
}

// errOtherVersion is returned for a sidecar configuration with another format version.
var errOtherVersion = errors.New("the sidecar configuration has another version")

// publicPart is the part of a sidecar configuration that callers see.
type publicPart struct {
	Version string      `json:"version"`
	Card    card.Card   `json:"card"`
	Bases   []card.Base `json:"bases"`
}

// asSidecar are the options by which a text is read as the sidecar reads it, by encoding/json.
// Users can edit the ConfigMaps of their Agents, and the registry must not show another card
// than the sidecar.
var asSidecar = jsonv1.DefaultOptionsV1()

func (s CardSource) decode() (*publicPart, error) {
	if err := card.CheckValues(s.Text); err != nil {
		return nil, fmt.Errorf("decode card: %w", err)
	}
	p := &publicPart{}
	if s.Remote {
		if err := json.UnmarshalRead(strings.NewReader(s.Text), &p.Card, asSidecar); err != nil {
			return nil, fmt.Errorf("decode card: %w", err)
		}
		return p, nil
	}
	if err := json.UnmarshalRead(strings.NewReader(s.Text), p, asSidecar); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	if p.Version != sidecarconfig.Version {
		return nil, errOtherVersion
	}
	return p, nil
}
