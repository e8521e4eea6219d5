// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/a2a-operator/a2a-operator/internal/cli/chat/markdown"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// indent begins each row of an agent's text, so that it cannot imitate a line of the chat.
	indent = "  "
	// minWidth is the least width of a row, in cells.
	minWidth = 10
	// maxTail bounds the incomplete row, in bytes, because characters without a width never fill a row.
	maxTail = 4 << 10
	// maxShown bounds the text of a turn that is shown, in bytes.
	maxShown = 256 << 10
)

// transcript lays out the conversation in rows of the terminal. It stores complete rows until they are printed above the
// input.
type transcript struct {
	width int
	// color is true if the terminal may show colors and other styles.
	color bool
	// rows are the complete rows that are not printed yet. All rows of an image are one element.
	rows []string
	// label is the label of the open block, "" for none. tail is the last, incomplete row of this block.
	label, tail string
	// formatted is true if the open block is Markdown, whose incomplete part is in blocks instead of tail.
	formatted bool
	blocks    markdown.Blocks
	// parted is true if the next block of Markdown needs an empty row before it.
	parted bool
	// shown is the number of bytes of text shown in this turn, and omitted the number of bytes beyond maxShown.
	shown, omitted int
}

// Styles. They use only the basic colors, which every terminal has.
var (
	styleUser   = lipgloss.NewStyle().Bold(true)
	styleNotice = lipgloss.NewStyle().Faint(true)
	styleLabel  = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// begin starts a turn, and resets the counters for maxShown.
func (t *transcript) begin() {
	t.close()
	t.shown = 0
	t.omitted = 0
}

// user adds a message of the user.
func (t *transcript) user(text string) {
	t.close()
	t.space()
	t.line(styleUser, "> ", text)
}

// notice adds a line that comes from the chat and not from the agent.
func (t *transcript) notice(text string) {
	t.close()
	t.line(styleNotice, "* ", safetext.Line(text))
}

// quote adds a text of the agent that the user must see in whole, on rows of its own.
func (t *transcript) quote(text string) {
	t.close()
	for line := range strings.SplitSeq(strings.ReplaceAll(safetext.Clean(text), "\t", "    "), "\n") {
		t.addText(t.wrap(indent + line))
	}
}

// notices adds a line for each text.
func (t *transcript) notices(texts []string) {
	for _, each := range texts {
		t.notice(each)
	}
}

// line adds a text. Its first row begins with the prefix, and all further rows with the indent, so that no part of the
// text looks like a separate line of the chat.
func (t *transcript) line(style lipgloss.Style, prefix, text string) {
	for line := range strings.SplitSeq(safetext.Clean(text), "\n") {
		for _, row := range t.wrap(line) {
			t.add(style, prefix+row)
			prefix = indent
		}
	}
}

// text adds the next piece of a block of the agent. The block stays open for further pieces with
// the same label. If formatted is true, the text is Markdown. A terminal without styles shows its source.
func (t *transcript) text(label, piece string, formatted bool) {
	if room := maxShown - t.shown; len(piece) > room {
		t.omitted += len(piece) - room
		piece = strings.ToValidUTF8(piece[:room], "")
	}
	t.shown += len(piece)
	if piece == "" {
		return
	}
	if t.label != label {
		t.close()
		t.space()
		t.line(styleLabel, "", safetext.Line(label)+":")
		t.label = label
		t.formatted = formatted && t.color
		t.parted = false
	}
	if t.formatted {
		t.addBlocks(t.blocks.Add(safetext.Clean(piece)))
		return
	}
	lines := strings.Split(t.tail+strings.ReplaceAll(safetext.Clean(piece), "\t", "    "), "\n")
	for i, line := range lines {
		rows := t.wrap(line)
		if i < len(lines)-1 {
			t.addText(rows)
			continue
		}
		last := len(rows) - 1
		t.addText(rows[:last])
		t.tail = rows[last]
		if len(t.tail) > maxTail {
			t.addText(rows[last:])
			t.tail = ""
		}
	}
}

// close ends the open block.
func (t *transcript) close() {
	if t.tail != "" {
		t.addText([]string{t.tail})
	}
	if rest := t.blocks.Rest(); rest != "" {
		t.addBlocks([]string{rest})
	}
	t.label = ""
	t.tail = ""
}

// addBlocks adds blocks of Markdown, with an empty row after each that is not the first.
func (t *transcript) addBlocks(blocks []string) {
	for _, block := range blocks {
		rows := markdown.Rows(block, t.columns())
		if len(rows) == 0 {
			continue
		}
		if t.parted {
			t.space()
		}
		t.parted = true
		t.addText(rows)
	}
}

// open returns the rows that are not complete: at most the last ones that limit allows.
func (t *transcript) open(limit int) []string {
	text := cmp.Or(t.tail, strings.TrimRight(t.blocks.Pending(), "\n"))
	if text == "" {
		return nil
	}
	var rows []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "    "), "\n") {
		for _, row := range t.wrap(line) {
			rows = append(rows, indent+row)
		}
	}
	return rows[max(len(rows)-limit, 0):]
}

// image adds rows that are printed together.
func (t *transcript) image(rows []string) {
	t.close()
	t.rows = append(t.rows, strings.Join(rows, "\n"))
}

// take removes at most limit complete rows and returns them. It returns the rows of an image together.
func (t *transcript) take(limit int) []string {
	n := 0
	for ; n < len(t.rows); n++ {
		limit -= 1 + strings.Count(t.rows[n], "\n")
		if limit < 0 && n > 0 {
			break
		}
	}
	taken := slices.Clone(t.rows[:n])
	t.rows = slices.Delete(t.rows, 0, n)
	return taken
}

// wrap breaks a line into rows, at least one.
func (t *transcript) wrap(line string) []string {
	return strings.Split(lipgloss.Wrap(line, t.columns(), ""), "\n")
}

// columns returns the width of a text. The last column stays empty: tea.Println erases the rest of a row after its text, which
// in a full row is its last character.
func (t *transcript) columns() int { return max(t.width-len(indent)-1, minWidth) }

// space separates blocks by an empty row.
func (t *transcript) space() { t.rows = append(t.rows, "") }

func (t *transcript) add(style lipgloss.Style, row string) {
	if t.color {
		row = style.Render(row)
	}
	t.rows = append(t.rows, row)
}

func (t *transcript) addText(rows []string) {
	for _, row := range rows {
		t.rows = append(t.rows, indent+row)
	}
}
