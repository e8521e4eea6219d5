// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

var (
	// group matches the first sentence of the comment of a block of reasons:
	// "Reasons of X, beside Y."
	group = regexp.MustCompile(`^Reasons of ([^,.]+)(?:, beside ([^.]+))?\.`)
	// meaning matches the comment of a reason: "ReasonX (True): what it means."
	meaning = regexp.MustCompile(`(?s)^Reason\w+(?: \(([^)]+)\))?: (.+)$`)
	// constant matches the name of a reason's constant.
	constant = regexp.MustCompile(`\bReason([A-Z]\w*)`)
)

// reason is a row of a table.
type reason struct{ constant, name, status, means, action string }

func (r reason) row() []string {
	return []string{"`" + r.name + "`", r.status, cell(r.means), cell(r.action)}
}

// block is a group of reasons in one constant declaration.
type block struct {
	title   string
	reasons []reason
	// beside are the constants of other blocks that the table also lists.
	beside []string
}

// readReasons returns a table for each block of reasons in the files.
func readReasons(files ...string) ([]table, error) {
	var blocks []block
	known := map[string]reason{}
	for _, file := range files {
		found, err := readBlocks(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, b := range found {
			for _, r := range b.reasons {
				known[r.constant] = r
			}
		}
		blocks = append(blocks, found...)
	}
	var tables []table
	for _, b := range blocks {
		t := table{place: b.title, header: []string{"reason", "status", "what it means", "what to do"}}
		for _, r := range b.reasons {
			t.rows = append(t.rows, r.row())
		}
		for _, name := range b.beside {
			r, ok := known[name]
			if !ok {
				return nil, fmt.Errorf("reasons of %s: %s does not exist", b.title, name)
			}
			t.rows = append(t.rows, r.row())
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// readBlocks returns the blocks of reasons in a file.
func readBlocks(file string) ([]block, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var blocks []block
	for _, declaration := range parsed.Decls {
		declared, ok := declaration.(*ast.GenDecl)
		if !ok || declared.Tok != token.CONST {
			continue
		}
		reasons, err := readBlock(declared)
		if err != nil {
			return nil, err
		}
		title := group.FindStringSubmatch(strings.Join(strings.Fields(declared.Doc.Text()), " "))
		switch {
		case len(reasons) == 0:
			continue
		case title == nil:
			return nil, fmt.Errorf("%s: the comment of its block does not begin with \"Reasons of ...\"", reasons[0].constant)
		}
		blocks = append(blocks, block{title: title[1], reasons: reasons, beside: constant.FindAllString(title[2], -1)})
	}
	return blocks, nil
}

// readBlock returns the reasons among the constants of a declaration.
func readBlock(block *ast.GenDecl) ([]reason, error) {
	var reasons []reason
	for _, spec := range block.Specs {
		declared := spec.(*ast.ValueSpec)
		name := declared.Names[0].Name
		if !strings.HasPrefix(name, "Reason") {
			continue
		}
		r, err := readReason(declared)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		reasons = append(reasons, r)
	}
	return reasons, nil
}

func readReason(declared *ast.ValueSpec) (reason, error) {
	name, err := strconv.Unquote(declared.Values[0].(*ast.BasicLit).Value)
	if err != nil {
		return reason{}, err
	}
	text, action, _ := strings.Cut(declared.Doc.Text(), "\nAction: ")
	found := meaning.FindStringSubmatch(text)
	if found == nil {
		return reason{}, errors.New(`its comment is not "ReasonName (Status): what it means."`)
	}
	r := reason{constant: declared.Names[0].Name, name: name, status: found[1], means: mentions(found[2]), action: mentions(action)}
	if r.status == "" {
		r.status = "False"
	}
	if r.action == "" && r.status != "True" {
		return reason{}, errors.New(`its comment lacks "Action: ..."`)
	}
	return r, nil
}

// mentions replaces the names of constants in a text by the reasons.
func mentions(text string) string { return constant.ReplaceAllString(text, "`$1`") }
