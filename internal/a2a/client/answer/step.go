// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// metadataStep is the member with a step of an agent without code in the metadata of a status (docs/reference/backends.md#tools).
const metadataStep = "a2a-operator.dev/step"

// maxStep bounds the parts of the text of a step, in bytes.
const maxStep = 200

// DescribeStep returns the step in the metadata of a status on one line, "" for none.
func DescribeStep(metadata a2a.Object) string {
	if len(metadata) == 0 {
		return ""
	}
	var members map[string]json.RawMessage
	var step struct {
		Tool     string `json:"tool"`
		Source   string `json:"source"`
		Outcome  string `json:"outcome"`
		Duration int64  `json:"durationMilliseconds"`
		Progress string `json:"progress"`
		Context  string `json:"context"`
		Messages int    `json:"messages"`
	}
	if json.Unmarshal(metadata, &members) != nil || json.Unmarshal(members[metadataStep], &step) != nil {
		return ""
	}
	tool := line(step.Tool)
	switch {
	case step.Context != "":
		return fmt.Sprintf("the conversation is long: %s, %d messages", line(step.Context), step.Messages)
	case tool == "":
		return ""
	case step.Progress != "":
		return tool + ": " + line(step.Progress)
	case step.Outcome != "":
		took := (time.Duration(step.Duration) * time.Millisecond).Round(100 * time.Millisecond)
		return fmt.Sprintf("%s: %s after %s", tool, line(step.Outcome), took)
	case step.Source != "":
		return "calls " + tool + " (" + line(step.Source) + ")"
	default:
		return "calls " + tool
	}
}

func line(text string) string { return safetext.Line(safetext.Clip(text, maxStep)) }
