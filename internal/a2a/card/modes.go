// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"slices"
	"strings"
)

// AcceptsInput reports whether an input mode of the agent or of one of its skills
// covers a media type. An agent without input modes accepts every media type.
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

// bare returns a media type without its parameters, in lower case.
func bare(mediaType string) string {
	name, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// covers reports whether a mode covers a media type. Besides a media type, a mode can be
// */*, a range such as text/*, or a bare type such as "text" in 0.1.
func covers(mode, mediaType string) bool {
	if mode == mediaType || mode == "*/*" || mode == "*" {
		return true
	}
	kind, _, _ := strings.Cut(mediaType, "/")
	return mode == kind || mode == kind+"/*"
}
