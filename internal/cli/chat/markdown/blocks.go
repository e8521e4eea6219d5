// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"
	"unicode/utf8"
)

// maxPending bounds the text of a block that has not ended, in bytes. Longer blocks are cut at a line.
const maxPending = 16 << 10

// Blocks cuts a text that arrives in pieces into blocks that no later text changes: it cuts after an empty line before a line
// that is not indented, and after a block of code. The zero value is empty. It is not safe for concurrent use.
type Blocks struct {
	pending string
	// scanned is the length of the complete lines of pending that were read. fence is the line that opened a block of code,
	// "" outside of one. empty is true after an empty line.
	scanned int
	fence   string
	empty   bool
}

// Add appends a piece of the text and returns the blocks that it completed.
func (b *Blocks) Add(piece string) []string {
	var done []string
	for len(piece) > maxPending {
		end := maxPending
		for end > 1 && !utf8.RuneStart(piece[end]) {
			end--
		}
		done = append(done, b.add(piece[:end])...)
		piece = piece[end:]
	}
	return append(done, b.add(piece)...)
}

func (b *Blocks) add(piece string) []string {
	b.pending += piece
	var done []string
	for {
		rest := b.pending[b.scanned:]
		if b.fence == "" && b.empty && rest != "" && !strings.ContainsAny(rest[:1], " \t\n") && b.scanned > 0 {
			done = b.cut(done)
			continue
		}
		line, _, ok := strings.Cut(rest, "\n")
		if !ok {
			break
		}
		b.scanned += len(line) + 1
		if b.line(line) {
			done = b.cut(done)
		}
	}
	if len(b.pending) > maxPending && b.scanned > 0 {
		fence := b.fence
		done = b.cut(done)
		if fence != "" { // the rest is code, too
			b.pending = fence + "\n" + b.pending
			b.scanned = len(fence) + 1
			b.fence = fence
		}
	}
	if len(b.pending) > 2*maxPending { // one line
		done = append(done, b.Rest())
	}
	return done
}

// line reads a complete line, and reports whether it ends a block of code.
func (b *Blocks) line(line string) bool {
	trimmed := strings.TrimLeft(line, " ")
	marker := fenceOf(trimmed)
	b.empty = strings.TrimSpace(line) == ""
	switch {
	case b.fence == "" && marker != "" && len(line)-len(trimmed) < 4:
		b.fence = line
	case b.fence != "" && marker != "" && strings.TrimSpace(strings.TrimLeft(trimmed, marker[:1])) == "":
		opened := fenceOf(strings.TrimLeft(b.fence, " "))
		if marker[0] == opened[0] && len(marker) >= len(opened) {
			b.fence = ""
			return true
		}
	}
	return false
}

// fenceOf returns the characters that open or close a block of code at the start of a line, "" for none.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// cut removes the lines that were read, and appends them to done unless they are empty.
func (b *Blocks) cut(done []string) []string {
	block := b.pending[:b.scanned]
	*b = Blocks{pending: b.pending[b.scanned:]}
	if strings.TrimSpace(block) == "" {
		return done
	}
	return append(done, block)
}

// Pending returns the text of the block that has not ended.
func (b *Blocks) Pending() string { return b.pending }

// Rest removes and returns the text of the block that has not ended, "" for none.
func (b *Blocks) Rest() string {
	rest := b.pending
	*b = Blocks{}
	return rest
}

// maxCells bounds the cells of a table. A block has fewer cells if each has a character.
const maxCells = 16 << 10

// Bound returns a block whose tables have at most maxCells cells: every other block becomes code. A short row gets the cells
// that it lacks, so that a few KB of text could have millions of cells.
func Bound(block string) string {
	columns := 0
	rows := 0
	for line := range strings.Lines(block) {
		rows++
		// The row below the header determines the number of columns. It may be in a list or in a quote.
		if strings.Trim(line, " \t\r\n\v\f|:-*+>.)0123456789") == "" {
			columns = max(columns, strings.Count(line, "|")+1)
		}
	}
	if columns*rows <= maxCells {
		return block
	}
	return "    " + strings.ReplaceAll(block, "\n", "\n    ")
}
