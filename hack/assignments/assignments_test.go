// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assignments checks that product code has one assignment a line, and no state changes in the header of an if or a switch
// (CONTRIBUTING.md). No linter does.
package assignments

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOneAssignmentALine(t *testing.T) {
	files := token.NewFileSet()
	for _, root := range []string{"api", "cmd", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil || ast.IsGenerated(file) {
				return err
			}
			for statement := range statements(file) {
				if isParallel(statement) && !isSwap(statement) {
					t.Errorf("%s: write one assignment a line; only a swap, and the results of one call, are assigned together", files.Position(statement.Pos()))
				}
			}
			for node := range ast.Preorder(file) {
				if init := header(node); changesState(init) {
					t.Errorf("%s: write the change of a state on a line of its own, before the if or switch", files.Position(init.Pos()))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// statements yields the assignments of all lists of statements. Those in the header of an if, for or switch are
// in no list.
func statements(file *ast.File) func(yield func(*ast.AssignStmt) bool) {
	return func(yield func(*ast.AssignStmt) bool) {
		for node := range ast.Preorder(file) {
			var list []ast.Stmt
			switch n := node.(type) {
			case *ast.BlockStmt:
				list = n.List
			case *ast.CaseClause:
				list = n.Body
			case *ast.CommClause:
				list = n.Body
			}
			for _, each := range list {
				if assignment, ok := each.(*ast.AssignStmt); ok && !yield(assignment) {
					return
				}
			}
		}
	}
}

func isParallel(s *ast.AssignStmt) bool {
	return len(s.Rhs) > 1
}

// isSwap reports whether a value of the right side is another place of the left side.
func isSwap(s *ast.AssignStmt) bool {
	for i, place := range s.Lhs {
		at := slices.IndexFunc(s.Rhs, func(value ast.Expr) bool { return types.ExprString(value) == types.ExprString(place) })
		if at >= 0 && at != i {
			return true
		}
	}
	return false
}

// header returns the statement in the header of an if or a switch, nil for none.
func header(node ast.Node) ast.Stmt {
	switch n := node.(type) {
	case *ast.IfStmt:
		return n.Init
	case *ast.SwitchStmt:
		return n.Init
	case *ast.TypeSwitchStmt:
		return n.Init
	default:
		return nil
	}
}

// changesState reports whether a statement changes a variable that lives longer. A call whose error the header checks may set other
// variables, too.
func changesState(init ast.Stmt) bool {
	if init == nil {
		return false
	}
	assignment, ok := init.(*ast.AssignStmt)
	if !ok {
		return true
	}
	return assignment.Tok != token.DEFINE && !slices.ContainsFunc(assignment.Lhs, func(place ast.Expr) bool {
		name, ok := place.(*ast.Ident)
		return ok && name.Name == "err"
	})
}
