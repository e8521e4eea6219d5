// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestSteps(t *testing.T) {
	for metadata, want := range map[string]string{
		`{"a2a-operator.dev/step":{"call":"1","tool":"deploy","source":"MCP server http://mcp/mcp","argumentsDigest":"x"}}`: "calls deploy (MCP server http://mcp/mcp)",
		`{"a2a-operator.dev/step":{"call":"1","tool":"deploy","source":"x","outcome":"done","durationMilliseconds":1234}}`:  "deploy: done after 1.2s",
		`{"a2a-operator.dev/step":{"call":"1","tool":"deploy","source":"x","progress":"half\nway\u001b[31m"}}`:              `deploy: half\nway\x1b[31m`,
		`{"a2a-operator.dev/step":{"context":"summarized","messages":12}}`:                                                  "the conversation is long: summarized, 12 messages",
		`{"a2a-operator.dev/step":{"tool":"` + strings.Repeat("x", 300) + `"}}`:                                             "calls " + strings.Repeat("x", 200) + "…",
		`{"a2a-operator.dev/step":7}`: "",
		`{"other":{}}`:                "",
		``:                            "",
	} {
		var r Reader
		got := ""
		for _, p := range r.Read(&a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}, Metadata: a2a.Object(metadata)}}) {
			got += p.Step
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", metadata, got, want)
		}
	}
}
