// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package celcompile

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// The bounds of an expression. The type checker needs time that grows with the size of types. The
// size of a type can grow exponentially with the length of an expression, for example by
// [1].map(a, {a: a}).map(a, {a: a}). With literal keys and the bound on nesting, a type has at
// most a few dozen parts.
const (
	// maxLength is the maximum length in characters. The CRD has the same bound.
	maxLength = 1024
	// maxRecursion bounds the recursion of the parser.
	maxRecursion = 64
	// maxNesting bounds how deep lists, maps, messages, macros and calls of type() are nested.
	// An element of the macro map counts twice, because the macro makes a list of it.
	maxNesting = 8
	// maxMacros bounds the macros, such as exists() and map(). The time of the type checker grows
	// with the square of their number.
	maxMacros = 16
	// maxPatternSize bounds the instructions of all regular expressions of an expression. The
	// program of a sidecar has about 40 bytes for each instruction.
	maxPatternSize = 4096
)

// checkBounds returns the mistake of a parsed expression that exceeds a bound, or nil. Its time is
// proportional to the number of nodes.
func checkBounds(parsed *cel.Ast) *ExpressionError {
	tree := parsed.NativeRep()
	b := &bounds{}
	ast.PreOrderVisit(ast.NavigateAST(tree), ast.NewExprVisitor(func(e ast.Expr) {
		if message := b.visit(e.(ast.NavigableExpr)); message != "" && b.first == nil {
			at := tree.SourceInfo().GetStartLocation(e.ID())
			b.first = &ExpressionError{Line: at.Line(), Column: at.Column() + 1, Message: message}
		}
	}))
	return b.first
}

// A regular expression that ignores case and has a range such as [B-\x{1e942}] takes milliseconds to
// parse, because package syntax folds each character of the range.
var (
	ignoresCase = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	folds       = regexp.MustCompile(`[^\x00-\x7f]|\\[xpP]`)
)

type bounds struct {
	macros      int
	patternSize int
	first       *ExpressionError
}

// visit returns the message for an expression that exceeds a bound, or "".
func (b *bounds) visit(e ast.NavigableExpr) string {
	if nests(e) && nesting(e) > maxNesting {
		return fmt.Sprintf("lists, maps, macros and type() are nested more than %d deep; split the rule", maxNesting)
	}
	switch e.Kind() {
	case ast.ComprehensionKind:
		b.macros++
		if b.macros > maxMacros {
			return fmt.Sprintf("it has more than %d macros, such as exists() or map(); split the rule", maxMacros)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			if entry.AsMapEntry().Key().Kind() != ast.LiteralKind {
				return "a key of a map must be a literal"
			}
		}
	case ast.CallKind:
		if functionName(e) == "matches" {
			return b.visitPattern(e.AsCall())
		}
	default: // costs no more than its parts
	}
	return ""
}

func (b *bounds) visitPattern(call ast.CallExpr) string {
	args := call.Args()
	if len(args) == 0 {
		return "" // the type checker reports it
	}
	pattern := args[len(args)-1]
	if pattern.Kind() != ast.LiteralKind {
		return "the regular expression of matches() must be a literal"
	}
	text, ok := pattern.AsLiteral().(types.String)
	if !ok {
		return "" // the type checker reports it
	}
	if ignoresCase.MatchString(string(text)) && folds.MatchString(string(text)) {
		return `a regular expression that ignores case must consist of ASCII characters, without \x, \p and \P`
	}
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return err.Error()
	}
	b.patternSize += patternSize(parsed)
	if b.patternSize > maxPatternSize {
		return fmt.Sprintf("the regular expressions need more than %d instructions; repeat less", maxPatternSize)
	}
	return ""
}

// patternSize returns about the number of instructions of a regular expression. Package syntax
// has bounded the number: a repetition counts at most 1000, also a nested one.
func patternSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, each := range re.Sub {
		size += patternSize(each)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}

// nesting returns the number of ancestors that nest, including the expression itself.
func nesting(e ast.NavigableExpr) int {
	depth := 0
	for exists := true; exists; e, exists = e.Parent() {
		if nests(e) {
			depth++
		}
	}
	return depth
}

// nests reports whether the type of an expression can contain the type of a part.
func nests(e ast.NavigableExpr) bool {
	switch e.Kind() {
	case ast.ListKind, ast.MapKind, ast.StructKind, ast.ComprehensionKind:
		return true
	case ast.CallKind:
		return functionName(e) == "type"
	default:
		return false
	}
}

// functionName returns the name of a called function. A leading dot only says that the name is
// absolute.
func functionName(e ast.NavigableExpr) string {
	return strings.TrimPrefix(e.AsCall().FunctionName(), ".")
}
