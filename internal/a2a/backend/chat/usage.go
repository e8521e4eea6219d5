// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// Usage is the number of tokens of a turn.
type Usage struct{ Input, Output int }

// UsageIn returns the usage in the metadata of a status that ends a turn: the member
// a2a-operator.dev/usage, an object with prompt_tokens and completion_tokens. ok is false if
// the metadata has no such member, or if one of the numbers is missing or no integer from 0
// to 2^31-1.
func UsageIn(metadata a2a.Object) (usage Usage, ok bool) {
	if !bytes.Contains(metadata, []byte(metadataUsage)) {
		return Usage{}, false
	}
	r := jsonread.New(metadata)
	defer r.Close()
	input, output := false, false
	for name := range r.AllMembers() {
		if string(name) != metadataUsage || r.Kind() != '{' {
			r.Skip()
			continue
		}
		for name := range r.AllMembers() {
			switch string(name) {
			case "prompt_tokens":
				usage.Input, input = r.Int(), true
			case "completion_tokens":
				usage.Output, output = r.Int(), true
			default:
				r.Skip()
			}
		}
	}
	if r.End() != nil || !input || !output || usage.Input < 0 || usage.Output < 0 {
		return Usage{}, false
	}
	return usage, true
}
