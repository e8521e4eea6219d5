// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal writes text that agents and clusters sent in the text format of the a2a-cli
// specification. The text cannot control the terminal of the reader.
package terminal

import "github.com/a2a-operator/a2a-operator/internal/safetext"

// Clean returns safetext.Clean, for a text of several lines.
func Clean(text string) string { return safetext.Clean(text) }

// Line returns safetext.Line, for a text on one line.
func Line(text string) string { return safetext.Line(text) }

// JSON returns safetext.JSON, for a JSON text.
func JSON(text []byte) []byte { return safetext.JSON(text) }

// Clip returns safetext.Clip: at most limit bytes of text.
func Clip(text string, limit int) string { return safetext.Clip(text, limit) }
