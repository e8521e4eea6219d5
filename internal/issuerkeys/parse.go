// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package issuerkeys

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// retainedReads is the number of consecutive reads without a key after which the key is dropped:
// 12 to 20 minutes after the API server has withdrawn it.
const retainedReads = 5

// retained is the union of the keys that API servers have published recently. While the replicas of a
// control plane are restarted with other keys, a read gets the keys of any of them. Without the union, the
// configurations of all sidecars would change with each read, and sidecars would refuse tokens of the
// other replicas.
type retained struct {
	url string
	// missed counts the reads since an answer had the key.
	missed map[key]int
}

// merge adds an answer, and returns the union. The keys of another issuer are dropped at once.
func (r *retained) merge(a answer) (json.RawMessage, error) {
	if r.url != a.url || r.missed == nil {
		r.url, r.missed = a.url, map[key]int{}
	}
	for each := range r.missed {
		r.missed[each]++
	}
	for _, each := range a.keys {
		r.missed[each] = 0
	}
	maps.DeleteFunc(r.missed, func(_ key, reads int) bool { return reads >= retainedReads })
	return encode(slices.Collect(maps.Keys(r.missed)))
}
