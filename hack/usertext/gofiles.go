// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// shipped are the directories with the code of the released programs.
	shipped = []string{"api", "cmd", "controllers", "internal"}
	// notShipped are packages below these directories that only tests and development use.
	notShipped = []string{"test/controlplane", "test/storetest", "api/v1alpha1/applyconfiguration"}
)

// goTexts returns the texts in the Go code that is shipped.
func goTexts() ([]text, error) {
	var texts []text
	for _, root := range shipped {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || slices.Contains(notShipped, filepath.ToSlash(path))):
				return filepath.SkipDir
			case entry.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), strings.HasPrefix(entry.Name(), "zz_generated"):
				return nil
			}
			found, err := literals(path, nil)
			texts = append(texts, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// literals returns the texts among the string literals of a Go file.
func literals(path string, source any) ([]text, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := &collector{path: path, files: files}
	ast.Inspect(file, c.visit)
	return c.texts, nil
}

// collector collects the texts of a Go file.
type collector struct {
	path  string
	files *token.FileSet
	texts []text
}

// visit adds the texts of a node. It returns true if the caller should visit the
// children of the node.
func (c *collector) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ImportSpec, *ast.StructType:
		return false
	case *ast.CallExpr:
		return c.visitCall(n)
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			c.add(n, false)
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD && joined(n) != "" {
			c.add(n, false)
			return false
		}
	}
	return true
}

func (c *collector) visitCall(call *ast.CallExpr) bool {
	if slices.Contains(patternFunctions, calledName(call)) {
		return false
	}
	at, is := textArgument(call)
	if !is {
		return true
	}
	c.add(call.Args[at], true)
	for i, argument := range call.Args {
		if i != at {
			ast.Inspect(argument, c.visit)
		}
	}
	return false
}

// add adds lines of a string expression. If known is true, the expression is known to be
// a text, and add adds each line with a letter. Otherwise it adds each line that is prose.
func (c *collector) add(e ast.Expr, known bool) {
	first := c.files.Position(e.Pos()).Line
	for i, line := range strings.Split(joined(e), "\n") {
		line = strings.TrimSpace(line)
		isText := known && letter.MatchString(verb.ReplaceAllString(line, "")) || prose(line)
		if isText && !notText.MatchString(line) {
			c.texts = append(c.texts, text{c.path, first + i, line})
		}
	}
}

// joined returns the text of a string expression, with "…" for each operand that
// is no literal, and "" for an expression without a literal.
func joined(e ast.Expr) string {
	switch n := e.(type) {
	case *ast.BasicLit:
		if unquoted, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
			return unquoted
		}
	case *ast.ParenExpr:
		return joined(n.X)
	case *ast.BinaryExpr:
		left, right := joined(n.X), joined(n.Y)
		if n.Op != token.ADD || left+right == "" {
			return ""
		}
		return orEllipsis(left) + orEllipsis(right)
	}
	return ""
}

func orEllipsis(part string) string {
	if part == "" {
		return "…"
	}
	return part
}

// patternFunctions are functions whose string arguments are patterns and not texts.
var patternFunctions = []string{"MustCompile", "NewReplacer", "NewScript"}

// textFunctions maps the name of a function or method to the index of its argument that is a text. The index of
// slog's *Context methods is 1, because their first argument is a context.
var textFunctions = map[string]int{
	"New": 0, "Errorf": 0,
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0,
	"DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
	"String": 2, "Bool": 2, "Int": 2, "Int64": 2, "Duration": 2,
	"StringVar": 3, "BoolVar": 3, "IntVar": 3, "Int64Var": 3, "DurationVar": 3, "Var": 2, "Func": 1, "BoolFunc": 1,
	"gauge": 1,
}

// textArgument returns the index of the argument of a call that is a text.
func textArgument(call *ast.CallExpr) (index int, is bool) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return 0, false
	}
	index, is = textFunctions[selector.Sel.Name]
	return index, is && index < len(call.Args) && joined(call.Args[index]) != ""
}

// calledName returns the name of a called function or method, without its package
// or receiver.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

var (
	letter = regexp.MustCompile(`[A-Za-z]`)
	verb   = regexp.MustCompile(`%[-+#.0-9]*\[?[0-9]*\]?[a-zA-Z]`)
	// word matches a word with the punctuation around it.
	word = regexp.MustCompile(`^[("'` + "`" + `]*[A-Za-z][a-z'-]+[.,:;!?)"'` + "`" + `]*$`)
	// notText matches text in the languages of programs: Lua, HTTP, media types, CEL.
	notText = regexp.MustCompile(`redis\.|^local |^return |^if .* then$|^--|ARGV|KEYS|^[a-z]+/[a-z0-9.+*-]+;|^(GET|PUT|POST) |HTTP/1|\{\{|=>|&&|\|\||^\+?kubebuilder`)
)

// prose reports whether a line contains at least two words.
func prose(line string) bool {
	words := 0
	for field := range strings.FieldsSeq(line) {
		if word.MatchString(field) {
			words++
		}
	}
	return words > 1
}
