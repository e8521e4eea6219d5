// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// paragraph is text of a file without its line breaks.
type paragraph struct {
	file string
	text string
	// comment is true for the text of a comment.
	comment bool
	// starts has an entry for each source line: where its text begins in the
	// paragraph, in bytes, and the number of the line.
	starts []start
}

type start struct{ offset, line int }

// code matches code and URLs in text.
var code = regexp.MustCompile("`[^`]*`|https?://\\S+")

// add appends a source line. Code in it becomes a placeholder, because rules for
// words do not apply to it.
func (p *paragraph) add(text string, line int) {
	if p.text != "" {
		p.text += " "
	}
	p.starts = append(p.starts, start{len(p.text), line})
	p.text += code.ReplaceAllString(text, "code")
}

// lineAt returns the source line of a byte of the paragraph.
func (p *paragraph) lineAt(offset int) int {
	line := p.starts[0].line
	for _, s := range p.starts {
		if s.offset > offset {
			break
		}
		line = s.line
	}
	return line
}

// notProse matches lines of comments that are for programs, and license headers.
var notProse = regexp.MustCompile(`^(\+|Copyright The |SPDX-|nolint\b|Code generated )`)

// commentsOf returns the paragraphs and list items in the comments of a Go file. An
// indented block is code and not part of them.
func commentsOf(path string, source any) ([]paragraph, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	var all []paragraph
	for _, group := range file.Comments {
		open := false // whether the next line continues the last paragraph
		for _, comment := range group.List {
			first := files.Position(comment.Pos()).Line
			for i, line := range strings.Split(uncomment(comment.Text), "\n") {
				text := strings.TrimSpace(line)
				item, isItem := strings.CutPrefix(text, "- ")
				if text == "" || notProse.MatchString(text) || strings.HasPrefix(strings.TrimPrefix(line, " "), "\t") {
					open = false
					continue
				}
				if isItem || !open {
					all = append(all, paragraph{file: path})
				}
				all[len(all)-1].add(item, first+i)
				open = true
			}
		}
	}
	return all, nil
}

// directive matches comments such as //go:embed.
var directive = regexp.MustCompile(`^[a-z0-9]+:[a-z0-9]`)

// uncomment returns the text of a comment without its markers, and "" for a
// directive.
func uncomment(comment string) string {
	if inside, ok := strings.CutPrefix(comment, "/*"); ok {
		return strings.TrimSuffix(inside, "*/")
	}
	text := strings.TrimPrefix(comment, "//")
	if directive.MatchString(text) {
		return ""
	}
	return text
}

// hashComment matches a line of a shell script, Makefile or YAML file that is a comment.
var hashComment = regexp.MustCompile(`^\s*##?(?: (.*))?$`)

// hashCommentsOf returns the paragraphs in the comments of a file whose comments begin
// with a hash and have lines of their own.
func hashCommentsOf(path, source string) []paragraph {
	var all []paragraph
	open := false // whether the next line continues the last paragraph
	line := 0
	for text := range strings.Lines(source) {
		line++
		found := hashComment.FindStringSubmatch(strings.TrimRight(text, "\r\n"))
		if found == nil || found[1] == "" || notProse.MatchString(found[1]) || strings.HasPrefix(found[1], "  ") {
			open = false
			continue
		}
		if !open {
			all = append(all, paragraph{file: path})
		}
		all[len(all)-1].add(strings.TrimSpace(found[1]), line)
		open = true
	}
	return all
}
