// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"slices"
	"strings"
)

// AcceptsInput reports whether the agent, or one of its skills, declares an
// input mode that a media type falls under. An agent that declares none takes
// anything.
func (c *Card) AcceptsInput(mediaType string) bool {
	mediaType = bare(mediaType)
	declared := len(c.DefaultInputModes) > 0
	matches := func(mode string) bool { return covers(bare(mode), mediaType) }
	if slices.ContainsFunc(c.DefaultInputModes, matches) {
		return true
	}
	for i := range c.Skills {
		if slices.ContainsFunc(c.Skills[i].InputModes, matches) {
			return true
		}
		declared = declared || len(c.Skills[i].InputModes) > 0
	}
	return !declared
}

// bare is a media type without its parameters.
func bare(mediaType string) string {
	name, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// covers knows */* and text/*, and "text" as 0.1 wrote it.
func covers(mode, mediaType string) bool {
	if mode == mediaType || mode == "*/*" || mode == "*" {
		return true
	}
	kind, _, _ := strings.Cut(mediaType, "/")
	return mode == kind || mode == kind+"/*"
}
