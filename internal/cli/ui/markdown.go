// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/a2a-operator/a2a-operator/internal/cli/chat/markdown"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// document is Markdown that arrives in pieces. The zero value is empty. It is not safe for concurrent use.
type document struct{ blocks markdown.Blocks }

// add appends a piece. It returns the HTML of the blocks that no later piece changes, and the HTML of the rest.
func (d *document) add(piece string) (done, rest string) {
	var out strings.Builder
	for _, block := range d.blocks.Add(safetext.Clean(piece)) {
		out.WriteString(toHTML(block))
	}
	return out.String(), toHTML(d.blocks.Pending())
}

// converter converts CommonMark with the tables, deleted texts and plain addresses of GitHub. Its HTML has no attribute for
// which the content security policy would need an exception.
var converter = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough, extension.Linkify),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(elements{}, 1))),
)

// toHTML returns a text of an agent as HTML that cannot do anything: the tags of the text itself appear as text, images as
// links, and only addresses of the web and of mail are links.
func toHTML(text string) string {
	var out bytes.Buffer
	if err := converter.Convert([]byte(markdown.Bound(text)), &out); err != nil {
		return `<p class="plain">` + string(util.EscapeHTML([]byte(text))) + "</p>"
	}
	return safetext.Clean(out.String()) // a reference such as &#x202e; is a character
}

// elements writes the nodes whose usual HTML is not suitable for the texts of agents.
type elements struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (e elements) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, enclose(`<p class="heading">`, "</p>\n")) // the headings of the page are not those of an answer
	r.Register(extensionast.KindTable, enclose(`<div class="table" role="group" aria-label="Table" tabindex="0"><table>`, "</table></div>\n"))
	r.Register(ast.KindFencedCodeBlock, lines(`<pre tabindex="0"><code>`, "</code></pre>\n"))
	r.Register(ast.KindCodeBlock, lines(`<pre tabindex="0"><code>`, "</code></pre>\n"))
	r.Register(ast.KindHTMLBlock, lines(`<p class="plain">`, "</p>\n"))
	r.Register(ast.KindRawHTML, e.rawHTML)
	r.Register(ast.KindLink, e.link)
	r.Register(ast.KindImage, e.link)
	r.Register(ast.KindAutoLink, e.autoLink)
}

// enclose returns a function that writes the children of a node between two tags.
func enclose(before, after string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tag := after
		if entering {
			tag = before
		}
		_, err := w.WriteString(tag)
		return ast.WalkContinue, err
	}
}

// lines returns a function that writes the source of a block between two tags.
func lines(before, after string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		_, _ = w.WriteString(before)
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			_, _ = w.Write(util.EscapeHTML(line.Value(source)))
		}
		if block, ok := n.(*ast.HTMLBlock); ok && block.HasClosure() {
			_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(source)))
		}
		_, err := w.WriteString(after)
		return ast.WalkSkipChildren, err
	}
}

func (elements) rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if raw, ok := n.(*ast.RawHTML); ok && entering {
		for i := range raw.Segments.Len() {
			segment := raw.Segments.At(i)
			_, _ = w.Write(util.EscapeHTML(segment.Value(source)))
		}
	}
	return ast.WalkSkipChildren, nil
}

// link writes a link with the host that it leads to, so that its text cannot hide the host. An image becomes a link, because
// the page loads nothing from other hosts.
func (elements) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	var address string
	switch n := n.(type) {
	case *ast.Link:
		address = resolved(n.Destination)
	case *ast.Image:
		address = resolved(n.Destination)
	}
	host := hostOf(address)
	for parent := n.Parent(); parent != nil; parent = parent.Parent() {
		if parent.Kind() == ast.KindLink {
			return ast.WalkContinue, nil // a link has no links in it
		}
	}
	switch {
	case host == "" && !entering:
		_, _ = w.WriteString(" (" + escape(address) + ")")
	case host == "":
	case entering:
		_, _ = w.WriteString(opening(address))
		if !n.HasChildren() {
			_, _ = w.WriteString("Image")
		}
	default:
		_, _ = w.WriteString(`</a> <span class="host">(` + escape(host) + ")</span>")
	}
	return ast.WalkContinue, nil
}

func (elements) autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	auto, ok := n.(*ast.AutoLink)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	address := string(util.URLEscape(auto.URL(source), false)) // it has no references
	if auto.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	label := escape(string(auto.Label(source)))
	if hostOf(address) != "" {
		label = opening(address) + label + "</a>"
	}
	_, err := w.WriteString(label)
	return ast.WalkContinue, err
}

// resolved returns the address of a link as the browser reads it, so that hostOf sees the same host: in Markdown, &sol; is a
// slash.
func resolved(destination []byte) string { return string(util.URLEscape(destination, true)) }

func opening(address string) string {
	return `<a href="` + escape(address) + `" target="_blank" rel="noopener noreferrer">`
}

func escape(text string) string { return string(util.EscapeHTML([]byte(text))) }

// hostOf returns the host of an address of the web, or the whole address of mail. It returns "" for all other addresses.
func hostOf(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "http", u.Scheme == "https":
		return u.Host
	case u.Scheme == "mailto":
		return u.Opaque
	default:
		return ""
	}
}
