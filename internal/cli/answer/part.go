// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// FormatData returns the structured data of a part as formatted JSON.
func FormatData(p *a2a.Part) string {
	var out bytes.Buffer
	if json.Indent(&out, p.Data, "", "  ") != nil {
		return string(p.Data)
	}
	return out.String()
}

// DescribeFile returns the name, the media type, and the size or the URL of a file. The caller must clean the text for a
// terminal, because it contains texts of the agent.
func DescribeFile(p *a2a.Part) string {
	text := cmp.Or(terminal.Clip(p.Filename, 200), "(no name)") + ", " + cmp.Or(terminal.Clip(p.MediaType, 200), "unknown type")
	if p.Content == a2a.ContentURL {
		return text + ", at " + p.URL
	}
	return fmt.Sprintf("%s, %d bytes", text, len(p.Raw))
}
