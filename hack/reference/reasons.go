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
	// group is the comment of a block of reasons: "Reasons of X, beside Y." It
	// says more behind the first sentence.
	group = regexp.MustCompile(`^Reasons of ([^,.]+)(?:, beside ([^.]+))?\.`)
	// meaning is that of one: "ReasonX (True): what it means."
	meaning = regexp.MustCompile(`(?s)^Reason\w+(?: \(([^)]+)\))?: (.+)$`)
	// constant is a mention of one.
	constant = regexp.MustCompile(`\bReason([A-Z]\w*)`)
)

// reason is a row.
type reason struct{ constant, name, status, means, cure string }

func (r reason) row() []string {
	return []string{"`" + r.name + "`", r.status, cell(r.means), cell(r.cure)}
}

// readReasons returns a table for each block of reasons.
func readReasons(file string) ([]table, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var tables []table
	var beside [][]string
	known := map[string]reason{}
	for _, declaration := range parsed.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		reasons, err := readBlock(block)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		title := group.FindStringSubmatch(strings.Join(strings.Fields(block.Doc.Text()), " "))
		switch {
		case len(reasons) == 0:
			continue
		case title == nil:
			return nil, fmt.Errorf("%s: %s is in no block whose comment says \"Reasons of ...\"", file, reasons[0].constant)
		}
		t := table{place: title[1], header: []string{"reason", "status", "what it means", "what to do"}}
		for _, r := range reasons {
			known[r.constant] = r
			t.rows = append(t.rows, r.row())
		}
		tables = append(tables, t)
		beside = append(beside, constant.FindAllString(title[2], -1))
	}
	// A block may name reasons of one that stands behind it.
	for i, names := range beside {
		for _, name := range names {
			r, ok := known[name]
			if !ok {
				return nil, fmt.Errorf("%s: there is no %s", file, name)
			}
			tables[i].rows = append(tables[i].rows, r.row())
		}
	}
	return tables, nil
}

// readBlock returns the constants of a block that are reasons.
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
	text, cure, _ := strings.Cut(declared.Doc.Text(), "\nCure: ")
	found := meaning.FindStringSubmatch(text)
	if found == nil {
		return reason{}, errors.New(`its comment is not "ReasonName (Status): what it means."`)
	}
	r := reason{constant: declared.Names[0].Name, name: name, status: found[1], means: mentions(found[2]), cure: mentions(cure)}
	if r.status == "" {
		r.status = "False"
	}
	if r.cure == "" && r.status != "True" {
		return reason{}, errors.New(`its comment lacks "Cure: ..."`)
	}
	return r, nil
}

// mentions writes constants as what they are in a status.
func mentions(text string) string { return constant.ReplaceAllString(text, "`$1`") }
