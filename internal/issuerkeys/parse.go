// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package issuerkeys

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// answer is the issuer and the keys that one API server publishes.
type answer struct {
	url  string
	keys []key
}

// key is a JSON Web Key (RFC 7517).
type key struct {
	id string
	// text is the key in JSON. Equal keys have equal texts.
	text string
}

// parse decodes an OpenID configuration and a JWK set.
func parse(configuration, keySet []byte) (answer, error) {
	var discovered struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(configuration, &discovered); err != nil {
		return answer{}, fmt.Errorf("decode OpenID configuration: %w", err)
	}
	if discovered.Issuer == "" {
		return answer{}, errors.New("decode OpenID configuration: it has no issuer")
	}
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(keySet, &set); err != nil {
		return answer{}, fmt.Errorf("decode key set: %w", err)
	}
	if len(set.Keys) == 0 {
		return answer{}, errors.New("decode key set: it has no key")
	}
	parsed := answer{url: discovered.Issuer}
	for _, each := range set.Keys {
		text, err := json.Marshal(each)
		if err != nil {
			return answer{}, fmt.Errorf("encode key: %w", err)
		}
		parsed.keys = append(parsed.keys, key{id: fmt.Sprint(each["kid"]), text: string(text)})
	}
	return parsed, nil
}

// encode returns the JWK set of keys. Sets with the same keys have the same bytes.
func encode(keys []key) (json.RawMessage, error) {
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.text, b.text)) })
	set := struct {
		Keys []json.RawMessage `json:"keys"`
	}{}
	for _, each := range keys {
		set.Keys = append(set.Keys, json.RawMessage(each.text))
	}
	encoded, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode key set: %w", err)
	}
	return encoded, nil
}
