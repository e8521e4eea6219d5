// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// ErrTooLarge is the error for an encoded configuration of more than MaxSize bytes.
var ErrTooLarge = fmt.Errorf("sidecar configuration is larger than %d bytes", MaxSize)

// Encode returns the content of the file. Equal configurations result in equal bytes.
// If the result would be larger than MaxSize, Encode returns ErrTooLarge.
func Encode(c *Config) ([]byte, error) {
	if minSize(c) > MaxSize {
		return nil, ErrTooLarge
	}
	dense, err := plainjson.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode sidecar configuration: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, dense, "", "  "); err != nil { //nolint:forbidigo // the operator has bounded what it writes
		return nil, fmt.Errorf("encode sidecar configuration: %w", err)
	}
	out.WriteByte('\n')
	if out.Len() > MaxSize {
		return nil, ErrTooLarge
	}
	return out.Bytes(), nil
}

// minSize returns a lower bound of the encoded size, in bytes: the size of the
// descriptions, examples and schemas of the skills, without the white space in the
// schemas. If this bound exceeds MaxSize, Encode refuses the configuration before it
// encodes it.
func minSize(c *Config) int {
	size := 0
	for i := range c.Card.Skills {
		skill := &c.Card.Skills[i]
		size += len(skill.Description)
		for _, example := range skill.Examples {
			size += len(example)
		}
		for _, schema := range []card.RawObject{skill.InputSchema, skill.OutputSchema} {
			for _, b := range schema {
				if b > ' ' {
					size++
				}
			}
		}
	}
	return size
}

// Decode decodes and validates the content of the file. An unknown member is an error, and so
// is a missing one that Encode always writes: its loss could open the agent.
func Decode(data []byte) (*Config, error) {
	if len(data) > MaxSize {
		return nil, ErrTooLarge
	}
	if err := checkMembers(data, reflect.TypeFor[Config]()); err != nil {
		var other struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(data, &other) == nil && other.Version != "" && other.Version != Version {
			return nil, fmt.Errorf("sidecar configuration version: is %q, this sidecar reads %q", other.Version, Version)
		}
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	c := &Config{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// Digest returns a digest of an encoded configuration: 16 hexadecimal digits.
func Digest(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// Published is the part of a published configuration that a later configuration may
// retain.
type Published struct {
	// Card is the published card. Its interfaces, security schemes and capabilities are
	// those of the published configuration.
	Card card.Card
	// Rules are the published authorization rules.
	Rules []Rule
	// ScopedSkills are the ids of the skills with scopes of their own.
	ScopedSkills []string
	// Flows are the published flows of the issuer FlowsOf.
	Flows   []card.OAuthFlow
	FlowsOf string
}

// published has the members of a Config that ReadPublished reads.
type published struct {
	Version string          `json:"version"`
	Agent   Agent           `json:"agent"`
	Card    card.Card       `json:"card"`
	Access  publishedAccess `json:"access"`
}

type publishedAccess struct {
	Authorization  *Authorization            `json:"authorization"`
	Authentication []publishedAuthentication `json:"authentication,omitempty"`
}

type publishedAuthentication struct {
	JWT *publishedJWT `json:"jwt,omitempty"`
}

type publishedJWT struct {
	SkillScopes map[string][]string `json:"skillScopes,omitempty"`
	Issuer      string              `json:"issuer,omitempty"`
	Flows       []card.OAuthFlow    `json:"flows,omitempty"`
}

// ReadPublished decodes the card and the authorization rules of an encoded
// configuration. It ignores other members, so that it can read the configuration of another
// version of the operator.
//
// It returns an error if the card or the rules have an unknown member, or lack one that Encode
// always writes. Without such a member, a hidden skill could become public, and a rule could seem to
// deny more or less than it does.
//
// It also returns an error for a configuration of more than MaxSize bytes, of another Version or of
// another agent. The card must have a name and skills, and each skill an id of its own.
func ReadPublished(encoded []byte, agent Agent) (*Published, error) {
	if len(encoded) > MaxSize {
		return nil, ErrTooLarge
	}
	if err := card.CheckValues(encoded); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	if err := checkMembers(encoded, reflect.TypeFor[published](), reflect.TypeFor[published](), reflect.TypeFor[publishedAccess](),
		reflect.TypeFor[publishedAuthentication](), reflect.TypeFor[publishedJWT]()); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	c := published{}
	if err := json.Unmarshal(encoded, &c); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	switch {
	case c.Version != Version:
		return nil, fmt.Errorf("sidecar configuration: version is %q, must be %q", c.Version, Version)
	case c.Agent != agent:
		return nil, fmt.Errorf("sidecar configuration: agent is %s/%s, must be of %s/%s", c.Agent.Namespace, c.Agent.Name, agent.Namespace, agent.Name)
	case c.Card.Name == "":
		return nil, errors.New("sidecar configuration: card.name is required")
	case len(c.Card.Skills) == 0:
		return nil, errors.New("sidecar configuration: card.skills is required")
	}
	known := map[string]bool{}
	for i := range c.Card.Skills {
		id := c.Card.Skills[i].ID
		if id == "" || known[id] {
			return nil, fmt.Errorf("sidecar configuration: card.skills[%d].id is %q, must be unique and not empty", i, id)
		}
		known[id] = true
	}
	read := &Published{Card: c.Card}
	if c.Access.Authorization != nil {
		read.Rules = c.Access.Authorization.Rules
	}
	for _, each := range c.Access.Authentication {
		if each.JWT != nil {
			read.Flows = each.JWT.Flows
			read.FlowsOf = each.JWT.Issuer
			read.ScopedSkills = slices.AppendSeq(read.ScopedSkills, maps.Keys(each.JWT.SkillScopes))
		}
	}
	return read, nil
}
