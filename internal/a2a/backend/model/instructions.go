// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// The variables of instructions.
const (
	variableCaller = "caller"
	variableDate   = "date"
	variableName   = "agent.name"
)

var variable = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// Instructions are a text for the model, with variables: {{caller}}, the principal that sent the message, {{date}}, the day in UTC, and
// {{agent.name}}. A value is inserted once, so that a caller whose name looks like a variable reads nothing.
type Instructions struct {
	// Text returns the text.
	Text func() string
	// Name is the name of the agent.
	Name string
	// Now returns the time.
	Now func() time.Time
}

// For returns the text for a turn.
func (i *Instructions) For(t *backend.Turn) string {
	text := i.Text()
	if !strings.Contains(text, "{{") {
		return text
	}
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		switch variable.FindStringSubmatch(found)[1] {
		case variableCaller:
			return fmt.Sprintf("%q", string(t.Owner))
		case variableDate:
			return i.Now().UTC().Format(time.DateOnly)
		case variableName:
			return i.Name
		default:
			return found
		}
	})
}
