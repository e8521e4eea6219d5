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
	"io"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// ErrTooLarge is returned for a contract of more than MaxSize bytes.
var ErrTooLarge = fmt.Errorf("contract is larger than %d bytes", MaxSize)

// Encode returns the bytes of the file. Equal configurations give equal bytes.
func Encode(c *Config) ([]byte, error) {
	if least(c) > MaxSize {
		return nil, ErrTooLarge
	}
	var dense, out bytes.Buffer
	enc := json.NewEncoder(&dense)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("encode contract: %w", err)
	}
	// An encoder that indents does not know how much it will be.
	if err := json.Indent(&out, dense.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("encode contract: %w", err)
	}
	if out.Len() > MaxSize {
		return nil, ErrTooLarge
	}
	return out.Bytes(), nil
}

// least is what the texts and schemas of the skills take, encoded in whatever
// way: less than the contract, and known without encoding it.
func least(c *Config) int {
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

// Decode reads a file, refuses what it does not know, and validates it.
func Decode(data []byte) (*Config, error) {
	if len(data) > MaxSize {
		return nil, ErrTooLarge
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	c := &Config{}
	if err := dec.Decode(c); err != nil {
		return nil, fmt.Errorf("decode contract: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode contract: data after the end of the object")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// Digest names the content of an encoded contract: 16 hexadecimal digits.
func Digest(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}
