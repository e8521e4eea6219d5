// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// The SDK must be able to decode the error in the place of an answer, whatever the request and the error are.
func TestErrorInThePlaceOfAnAnswerIsJSON(t *testing.T) {
	for name, test := range map[string]struct{ body, id string }{
		"a request":     {`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, "7"},
		"without an id": {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "null"},
		"no JSON":       {"x", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://tools", strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				ID    json.RawMessage
				Error struct{ Message string }
			}
			text := errorFor(r, errors.New("x\x01\U000e0001"))
			if err := json.Unmarshal(text, &answer); err != nil || string(answer.ID) != test.id || answer.Error.Message != "x\x01\U000e0001" {
				t.Errorf("%s: %+v, %v", text, answer, err)
			}
		})
	}
}
