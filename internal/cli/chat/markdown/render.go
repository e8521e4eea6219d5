// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package markdown shows Markdown in a terminal. Blocks cuts a text that arrives in pieces, and Rows lays out a block.
//
// The texts come from agents: no text controls the terminal, and the address of a link is always visible. The package has no
// state of a terminal and writes nothing.
package markdown

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// maxDepth bounds the nesting of blocks that is shown. Deeper blocks appear as text of the block at this depth.
const maxDepth = 8

// parser parses the Markdown of CommonMark with the tables and deleted texts of GitHub.
var parser = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser()

// Styles of the parts of a text. They use only the basic colors, which every terminal has.
var (
	stylePlain   = ansi.Style{}
	styleHeading = stylePlain.Bold().Underline(true)
	styleStrong  = stylePlain.Bold()
	styleStress  = stylePlain.Italic(true)
	styleDeleted = stylePlain.Strikethrough(true)
	styleCode    = stylePlain.ForegroundColor(ansi.Yellow)
	styleMark    = stylePlain.Faint()
)

// Rows lays out a block in rows of at most width cells, without empty rows at the end. Words that are wider are broken.
func Rows(block string, width int) []string {
	source := []byte(Bound(safetext.Clean(block)))
	r := &renderer{source: source}
	rows := r.children(parser.Parse(text.NewReader(source)), max(width, 1), 0)
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

type renderer struct {
	source []byte
}

// children lays out the blocks below a node, with an empty row between two of them unless the node is a tight list item.
func (r *renderer) children(parent ast.Node, width, depth int) []string {
	var rows []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if _, tight := n.(*ast.TextBlock); len(rows) > 0 && !tight && n.Kind() != ast.KindListItem && parent.Kind() != ast.KindListItem {
			rows = append(rows, "")
		}
		rows = append(rows, r.block(n, width, depth+1)...)
	}
	return rows
}

// block lays out a block.
func (r *renderer) block(n ast.Node, width, depth int) []string {
	if depth > maxDepth {
		return wrap(r.lines(n), width)
	}
	switch n := n.(type) {
	case *ast.Heading:
		return wrap(r.inline(n, styleHeading), width)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		code := strings.ReplaceAll(strings.TrimRight(r.lines(n), "\n"), "\t", "    ")
		return prefixed(strings.Split(ansi.Hardwrap(code, max(width-2, 1), true), "\n"), "  ", "  ", styleCode)
	case *ast.HTMLBlock:
		return wrap(strings.TrimRight(r.lines(n), "\n"), width)
	case *ast.Blockquote:
		mark := styleMark.Styled("│ ")
		return prefixed(r.children(n, max(width-2, 1), depth), mark, mark, stylePlain)
	case *ast.List:
		return r.list(n, width, depth)
	case *ast.ThematicBreak:
		return []string{styleMark.Styled(strings.Repeat("─", min(width, 20)))}
	case *extensionast.Table:
		return r.table(n, width)
	default:
		if n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
			return r.children(n, width, depth)
		}
		return wrap(r.inline(n, stylePlain), width)
	}
}

// list lays out the items of a list with their marks or numbers.
func (r *renderer) list(list *ast.List, width, depth int) []string {
	var rows []string
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if list.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		indent := strings.Repeat(" ", ansi.StringWidth(mark))
		if len(rows) > 0 && !list.IsTight {
			rows = append(rows, "")
		}
		content := r.children(item, max(width-len(indent), 1), depth)
		rows = append(rows, prefixed(content, mark, indent, stylePlain)...)
		if len(content) == 0 {
			rows = append(rows, strings.TrimRight(mark, " "))
		}
	}
	return rows
}

// table lays out a table in columns. If the columns do not fit, it lays out each row as lines of "heading: cell".
func (r *renderer) table(n *extensionast.Table, width int) []string {
	var all [][]string
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		style := stylePlain
		if row.Kind() == extensionast.KindTableHeader {
			style = styleStrong
		}
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			text := strings.ReplaceAll(r.inline(cell, style), "\n", " ")
			if len(widths) == len(cells) {
				widths = append(widths, 0)
			}
			widths[len(cells)] = max(widths[len(cells)], ansi.StringWidth(text))
			cells = append(cells, text)
		}
		all = append(all, cells)
	}
	total := 2 * (len(widths) - 1)
	for _, each := range widths {
		total += each
	}
	if total > width {
		return records(all, width)
	}
	rows := make([]string, 0, len(all)+1)
	for i, cells := range all {
		var row strings.Builder
		for j, cell := range cells {
			row.WriteString(cell)
			if j < len(cells)-1 {
				row.WriteString(strings.Repeat(" ", widths[j]-ansi.StringWidth(cell)+2))
			}
		}
		rows = append(rows, row.String())
		if i == 0 {
			rows = append(rows, styleMark.Styled(strings.Repeat("─", max(total, 1))))
		}
	}
	return rows
}

// records lays out the rows of a table below each other, for a terminal that is too narrow for the columns.
func records(all [][]string, width int) []string {
	var rows []string
	for i, cells := range all[1:] {
		if i > 0 {
			rows = append(rows, "")
		}
		for j, cell := range cells {
			heading := ""
			if j < len(all[0]) {
				heading = all[0][j] + ": "
			}
			rows = append(rows, wrap(heading+cell, width)...)
		}
	}
	if len(all) == 1 { // the stream ended after the headings
		rows = wrap(strings.Join(all[0], "  "), width)
	}
	return rows
}

// lines returns the source of a block.
func (r *renderer) lines(n ast.Node) string {
	var out strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		out.Write(segment.Value(r.source))
	}
	return out.String()
}

// inline returns the text below a node. The style is that of the node: a terminal has no nested styles.
func (r *renderer) inline(parent ast.Node, style ansi.Style) string {
	var out strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.CodeSpan:
			out.WriteString(r.inline(n, slices.Concat(style, styleCode)))
		case *ast.Emphasis:
			inner := styleStress
			if n.Level > 1 {
				inner = styleStrong
			}
			out.WriteString(r.inline(n, slices.Concat(style, inner)))
		case *extensionast.Strikethrough:
			out.WriteString(r.inline(n, slices.Concat(style, styleDeleted)))
		case *ast.Link:
			out.WriteString(r.link(r.inline(n, style), n.Destination, style))
		case *ast.Image:
			out.WriteString(r.link(r.inline(n, style), n.Destination, style))
		default:
			if n.FirstChild() != nil {
				out.WriteString(r.inline(n, style))
				continue
			}
			for i, line := range strings.Split(r.leaf(n), "\n") {
				if i > 0 {
					out.WriteString("\n")
				}
				out.WriteString(style.Styled(line))
			}
		}
	}
	return out.String()
}

// leaf returns the text of a node without children.
func (r *renderer) leaf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		value := r.resolve(n.Segment.Value(r.source), n.IsRaw())
		if n.HardLineBreak() {
			return value + "\n"
		}
		if n.SoftLineBreak() {
			return value + " "
		}
		return value
	case *ast.String:
		return safetext.Clean(string(n.Value))
	case *ast.AutoLink:
		return safetext.Clean(string(n.Label(r.source)))
	case *ast.RawHTML:
		var out strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			out.Write(segment.Value(r.source))
		}
		return out.String()
	}
	return ""
}

// link returns the text of a link with its address, so that the text cannot hide where the link leads.
func (r *renderer) link(label string, destination []byte, style ansi.Style) string {
	address := safetext.Line(r.resolve(destination, false))
	if plain := ansi.Strip(label); plain == "" || plain == address {
		return style.Styled(address)
	}
	return label + style.Styled(" ("+address+")")
}

// resolve returns a text without the escapes of Markdown. It cleans the result, because a reference such as &#27; is a
// character.
func (r *renderer) resolve(value []byte, raw bool) string {
	if !raw {
		value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
	}
	return safetext.Clean(string(value))
}

// wrap breaks lines into rows.
func wrap(text string, width int) []string {
	return strings.Split(lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), width, ""), "\n")
}

// prefixed adds a prefix to the first row, and another one to all further rows. The rows get the style.
func prefixed(rows []string, first, next string, style ansi.Style) []string {
	out := make([]string, 0, len(rows))
	prefix := first
	for _, row := range rows {
		out = append(out, prefix+style.Styled(row))
		prefix = next
	}
	return out
}
