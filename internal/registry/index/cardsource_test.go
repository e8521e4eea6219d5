// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// The sidecar reads its configuration by encoding/json. If the registry decoded a text differently,
// it would show another card than the sidecar.
func TestCardSourceIsDecodedAsTheSidecarDoes(t *testing.T) {
	const start = `{"version":"` + sidecarconfig.Version + `",`
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	tests := map[string]string{
		"a card":               start + `"card":{"name":"Echo","description":"<Größe> \u2028","skills":[{"id":"a","inputSchema":{"b":[1,2.50,null]}}]},"bases":[]}`,
		"unknown members":      start + `"backend":{"url":"http://127.0.0.1","n":[{}]},"card":{"name":"Echo","more":{"x":1}}}`,
		"space around":         " \n" + start + `"card":{}}` + "\n\t ",
		"null members":         start + `"card":{"name":null,"skills":null},"bases":null}`,
		"duplicate members":    start + `"card":{"name":"First","name":"Last","version":"1","version":"2"}}`,
		"duplicate cards":      start + `"card":{"name":"First","description":"kept"},"card":{"name":"Last"}}`,
		"duplicate lists":      start + `"card":{"skills":[{"id":"a","description":"kept","extended":true},{"id":"c"}],"skills":[{"id":"b"}]}}`,
		"null after a card":    start + `"card":{"name":"Echo"},"card":null}`,
		"another delimiter":    start + `"card":{"name":"Echo","na_me":"y"},"card_":{"name":"z"}}`,
		"another case":         start + `"Card":{"NAME":"Echo"}}`,
		"a lone surrogate":     start + `"card":{"name":"a\ud800b"}}`,
		"invalid UTF-8":        start + `"card":{"name":"a` + "\xff" + `b"}}`,
		"data after the end":   start + `"card":{}} {}`,
		"a bracket at the end": start + `"card":{}}]`,
		"no end":               start + `"card":{"name":"Echo"`,
		"no text":              " ",
		"a list":               "[]",
		"a comment":            start + `"card":{} /* */}`,
		"a comma at the end":   start + `"card":{},}`,
		"another type":         start + `"card":{"name":1}}`,
		"a schema of text":     start + `"card":{"skills":[{"inputSchema":"x"}]}}`,
		"a control character":  start + `"card":{"name":"a` + "\n" + `b"}}`,
		"deep":                 start + `"card":{"more":` + deep(900) + `}}`,
		"too deep":             start + `"card":{"more":` + deep(10_001) + `}}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := CardSource{Text: text}.decode()
			want := &publicPart{}
			wantErr := json.Unmarshal([]byte(text), want)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("decode() error = %v, encoding/json: %v", err, wantErr)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decode() differs from encoding/json (-want +got):\n%s", diff)
			}
		})
	}
}
