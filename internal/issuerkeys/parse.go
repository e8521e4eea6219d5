// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package issuerkeys

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
)

// parse decodes an OpenID configuration and a JWK set. It sorts the keys by their ids,
// so that sets with the same keys have the same bytes.
func parse(configuration, keySet []byte) (*clusterstate.Issuer, error) {
	var discovered struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(configuration, &discovered); err != nil {
		return nil, fmt.Errorf("decode OpenID configuration: %w", err)
	}
	if discovered.Issuer == "" {
		return nil, errors.New("decode OpenID configuration: it has no issuer")
	}
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(keySet, &set); err != nil {
		return nil, fmt.Errorf("decode key set: %w", err)
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("decode key set: it has no key")
	}
	slices.SortStableFunc(set.Keys, func(a, b map[string]any) int {
		return cmp.Compare(fmt.Sprint(a["kid"]), fmt.Sprint(b["kid"]))
	})
	keys, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode key set: %w", err)
	}
	return &clusterstate.Issuer{URL: discovered.Issuer, Keys: keys}, nil
}

func equal(a, b *clusterstate.Issuer) bool {
	return a.URL == b.URL && bytes.Equal(a.Keys, b.Keys)
}
