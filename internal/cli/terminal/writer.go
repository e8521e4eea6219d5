// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal writes texts in the text format of the a2a-cli specification. The texts come from agents and
// clusters, and cannot control the terminal of the reader.
package terminal

import (
	"io"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// indent begins each line of a block, so that no line of the block looks like a field.
const indent = "  "

// Writer writes fields and blocks: the text format of the a2a-cli specification, section 11.2. It passes all values
// through safetext.Clean or safetext.Line. After the first error of the underlying writer it writes nothing; Err returns this error.
type Writer struct {
	to  io.Writer
	err error
	// open is the label of the open block, "" for none. lineStart is true if the next byte begins a line of the block.
	open      string
	lineStart bool
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Field writes "label: value" on one line. It closes an open block.
func (w *Writer) Field(label, value string) {
	w.Close()
	w.write(label + ": " + safetext.Line(value) + "\n")
}

// Block writes the next piece of a block. The block stays open for further pieces with the
// same label.
func (w *Writer) Block(label, piece string) {
	if piece == "" {
		return
	}
	if w.open != label {
		w.Close()
		w.open = label
		w.lineStart = true
		w.write(safetext.Line(label) + ":\n")
	}
	var out strings.Builder
	for _, line := range strings.SplitAfter(safetext.Clean(piece), "\n") {
		if line == "" {
			continue
		}
		if w.lineStart {
			out.WriteString(indent)
		}
		out.WriteString(line)
		w.lineStart = strings.HasSuffix(line, "\n")
	}
	w.write(out.String())
}

// Close ends an open block with an empty line.
func (w *Writer) Close() {
	if w.open == "" {
		return
	}
	if !w.lineStart {
		w.write("\n")
	}
	w.write("\n")
	w.open = ""
}

// Err returns the first error of the underlying writer.
func (w *Writer) Err() error { return w.err }

func (w *Writer) write(text string) {
	if w.err == nil && text != "" {
		_, w.err = io.WriteString(w.to, text)
	}
}
