// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SignedTexts returns the texts to sign for a card, without duplicates. The text of 1.0
// is the first.
//
// A verifier parses a card, serializes it again and verifies a signature over its own
// text. The texts of verifiers differ: some omit empty members, verifiers of 0.3 drop
// members that 0.3 does not define and omit default values, and verifiers in Python
// escape characters beyond ASCII. Each returned text is the text of some verifiers.
func SignedTexts(c *Card) ([][]byte, error) {
	v10, err := read(c, FormV10)
	if err != nil {
		return nil, err
	}
	v03, err := read(c, FormV03)
	if err != nil {
		return nil, err
	}
	dropWrappers(v03)
	var readings [][]byte
	add := func(value map[string]any, write func(any) ([]byte, error)) {
		text, writeErr := write(value)
		if err == nil && writeErr != nil {
			err = writeErr
		}
		if !slices.ContainsFunc(readings, func(r []byte) bool { return bytes.Equal(r, text) }) {
			readings = append(readings, text)
		}
	}
	// These are the texts of A2A 1.0 section 8.4.1: without empty members, with empty members,
	// and with ASCII escapes.
	cleaned := clean(v10)
	add(cleaned, canonical)
	dropEmptyScopes(v10)
	add(v10, canonical)
	add(cleaned, ascii)
	// These are the first two texts again, without the requirements. Some clients of 1.0 get
	// FormUnion and do not read security_requirements, which is the only member of FormUnion
	// with the requirements of 1.0.
	dropRequirements(v10)
	add(clean(v10), canonical)
	add(v10, canonical)
	// These are the card as specified in 0.3, and the card as clients of 0.3 serialize it.
	add(v03, canonical)
	dropDefaults(v03)
	add(clean(v03), ascii)
	if err != nil {
		return nil, err
	}
	return readings, nil
}

// read returns a card in a form as a JSON object. Numbers keep their notation.
func read(c *Card, f Form) (map[string]any, error) {
	text, err := Render(c, f)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value map[string]any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	return value, nil
}

// clean returns a copy without null, "", [] and {}, and without members that contain
// nothing else.
func clean(value map[string]any) map[string]any {
	out := map[string]any{}
	for name, member := range value {
		if kept := cleanValue(member); kept != nil {
			out[name] = kept
		}
	}
	return out
}

// cleanValue returns a copy of a value as clean does, and nil if the result is empty.
func cleanValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if kept := clean(v); len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		var kept []any
		for _, element := range v {
			if k := cleanValue(element); k != nil {
				kept = append(kept, k)
			}
		}
		if kept == nil {
			return nil
		}
		return kept
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}

// dropEmptyScopes removes empty lists of scopes from requirements, as ProtoJSON
// does.
func dropEmptyScopes(card map[string]any) {
	drop := func(holder map[string]any) {
		for _, requirement := range objects(holder["securityRequirements"]) {
			schemes, _ := requirement["schemes"].(map[string]any)
			for _, scheme := range schemes {
				if s, ok := scheme.(map[string]any); ok {
					if list, ok := s["list"].([]any); ok && len(list) == 0 {
						delete(s, "list")
					}
				}
			}
		}
	}
	drop(card)
	for _, s := range objects(card["skills"]) {
		drop(s)
	}
}

// dropRequirements removes securityRequirements, because the union has the requirements
// under another name.
func dropRequirements(card map[string]any) {
	delete(card, "securityRequirements")
	for _, s := range objects(card["skills"]) {
		delete(s, "securityRequirements")
	}
}

// dropWrappers removes the members of security schemes that the JSON Schema of 0.3
// does not have.
func dropWrappers(card map[string]any) {
	for _, scheme := range members(card["securitySchemes"]) {
		for _, name := range []string{
			"apiKeySecurityScheme", "httpAuthSecurityScheme", "oauth2SecurityScheme", "openIdConnectSecurityScheme", "mtlsSecurityScheme",
		} {
			delete(scheme, name)
		}
	}
}

// dropDefaults removes the members whose value is their default in 0.3.
func dropDefaults(card map[string]any) {
	delete(card, "protocolVersion")
	if card["preferredTransport"] == string(JSONRPC) {
		delete(card, "preferredTransport")
	}
	for _, scheme := range members(card["securitySchemes"]) {
		delete(scheme, "type")
	}
}

func objects(value any) []map[string]any {
	all, _ := value.([]any)
	var out []map[string]any
	for _, each := range all {
		if object, ok := each.(map[string]any); ok {
			out = append(out, object)
		}
	}
	return out
}

func members(value any) []map[string]any {
	object, _ := value.(map[string]any)
	var out []map[string]any
	for _, member := range object {
		if m, ok := member.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// canonical encodes a value by RFC 8785.
func canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode signed text of card: %w", err)
	}
	out := jsontext.Value(text)
	if err := out.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize card: %w", err)
	}
	return out, nil
}

// ascii encodes a value as canonical does, and then escapes characters beyond ASCII.
func ascii(value any) ([]byte, error) {
	text, err := canonical(value)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r < 0x7F:
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out, nil
}
