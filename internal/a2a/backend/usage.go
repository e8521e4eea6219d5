// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// MetadataUsage is the member of the metadata of a status or a message with the usage of the
// call: an object with prompt_tokens and completion_tokens, as in ChatCompletions.
const MetadataUsage = "a2a-operator.dev/usage"

// Usage is the number of tokens that one call of the agent has used so far.
type Usage struct{ Input, Output int }

// Total returns the sum of Input and Output.
func (u Usage) Total() int64 { return int64(u.Input) + int64(u.Output) }

// Max returns the larger Input and the larger Output of two reports. An agent may report the
// usage of a call several times; each report includes the former ones.
func (u Usage) Max(other Usage) Usage {
	return Usage{Input: max(u.Input, other.Input), Output: max(u.Output, other.Output)}
}

// UsageIn returns the usage in the member MetadataUsage of metadata. ok is false if the
// metadata has no such member, or if one of its numbers is missing or is not an integer from
// 0 to 2^31-1.
func UsageIn(metadata a2a.Object) (usage Usage, ok bool) {
	if !bytes.Contains(metadata, []byte(MetadataUsage)) {
		return Usage{}, false
	}
	r := jsonread.New(metadata)
	defer r.Close()
	input, output := false, false
	for name := range r.AllMembers() {
		if string(name) != MetadataUsage || r.Kind() != '{' {
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
