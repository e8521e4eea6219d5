// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// apiDir holds the types and reasons of the API.
const apiDir = "api/v1alpha1"

// apiTexts returns the comments of the types, fields and reasons of the API, a
// paragraph on a line, and the messages in their markers.
func apiTexts() ([]text, error) {
	paths, err := filepath.Glob(filepath.Join(apiDir, "*.go"))
	if err != nil {
		return nil, err
	}
	var texts []text
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "zz_generated") {
			continue
		}
		found, err := comments(path, nil)
		if err != nil {
			return nil, err
		}
		texts = append(texts, found...)
	}
	return texts, nil
}

// comments returns the texts of the doc comments of a Go file.
func comments(path string, source any) ([]text, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []text
	ast.Inspect(file, func(node ast.Node) bool {
		var doc *ast.CommentGroup
		switch n := node.(type) {
		case *ast.GenDecl:
			doc = n.Doc
		case *ast.Field:
			doc = n.Doc
		case *ast.ValueSpec:
			doc = n.Doc
		}
		if doc != nil {
			texts = append(texts, paragraphs(path, files, doc)...)
		}
		return true
	})
	return texts, nil
}

// message is the text in a marker of a CEL rule or of a default.
var message = regexp.MustCompile(`\bmessage(?:=|: )("(?:[^"\\]|\\.)*")`)

// paragraphs returns the paragraphs of a comment and the messages in its markers.
func paragraphs(path string, files *token.FileSet, doc *ast.CommentGroup) []text {
	var texts []text
	var lines []string
	begin := 0
	end := func() {
		if len(lines) > 0 {
			texts = append(texts, text{path, begin, strings.Join(lines, " ")})
		}
		lines = nil
	}
	for _, c := range doc.List {
		line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		at := files.Position(c.Pos()).Line
		switch {
		case strings.HasPrefix(line, "+"):
			end()
			seen := map[string]bool{}
			for _, found := range message.FindAllStringSubmatch(line, -1) {
				if unquoted, err := strconv.Unquote(found[1]); err == nil && !seen[unquoted] {
					texts, seen[unquoted] = append(texts, text{path, at, unquoted}), true
				}
			}
		case line == "":
			end()
		default:
			if len(lines) == 0 {
				begin = at
			}
			lines = append(lines, line)
		}
	}
	end()
	return texts
}
