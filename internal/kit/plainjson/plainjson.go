// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plainjson encodes texts that tenants and callers choose, for readers of JSON.
//
// encoding/json makes each <, > and & six times as long, for JSON inside of HTML.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal returns what json.Marshal returns, without escapes for HTML.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
