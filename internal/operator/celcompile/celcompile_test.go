// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package celcompile

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// The tests of internal/a2a/authz evaluate valid expressions.

func TestCompileNamesMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                             "Syntax error",
		`caller.nmespace == "a"`:                       "line 1, column 1: undeclared reference to 'caller'; the variables are caller.principal, caller.namespace, caller.claims",
		`request.path == "a"`:                          "line 1, column 1: undeclared reference to 'request'; the variables are",
		`principal == "a"`:                             "line 1, column 1: undeclared reference to 'principal'",
		"request.skill == 'a' &&\n  caller.":           "line 2, column 10: Syntax error",
		`caller.namespace`:                             "it has type string, must be a bool",
		`caller.claims.admin`:                          "it has type dyn, must be a bool; add a comparison",
		`caller.namespace == 1`:                        "line 1, column 18: found no matching overload for '_==_' applied to '(string, int)'",
		`caller.principal.matches("[")`:                "missing closing ]",
		`now() > timestamp("x")`:                       "undeclared reference to 'now'",
		strings.Repeat("(", 500):                       "expression recursion limit exceeded",
		strings.Repeat("true||", 170) + "true || true": "expression code point size exceeds limit: size: 1032, limit 1024",
		`[[[[[[[[[1]]]]]]]]] == []`:                    "line 1, column 9: lists, maps, macros and type() are nested more than 8 deep; split the rule",
		`type(type(type(type(type(type(type(type(type(1))))))))) == 1`:               "nested more than 8 deep",
		`.type(type(type(type(type(type(type(type([1])))))))) == 1`:                  "nested more than 8 deep",
		`{caller.namespace: 1} == {}`:                                                "line 1, column 1: a key of a map must be a literal",
		`[1].map(a, {a: a}) == []`:                                                   "a key of a map must be a literal",
		`"a".matches(caller.claims.p)`:                                               "the regular expression of matches() must be a literal",
		`matches("a", caller.namespace)`:                                             "the regular expression of matches() must be a literal",
		`.matches("a", caller.namespace)`:                                            "the regular expression of matches() must be a literal",
		`"a".matches("(.{1000}){1}") || "a".matches(".{1000}.{1000}.{1000}.{1000}")`: "the regular expressions need more than 4096 instructions; repeat less",
		`"a".matches("(?i)[B-\\x{1e942}]")`:                                          "a regular expression that ignores case must consist of ASCII characters",
		`"a".matches("(?-s:(?si-U)[B-𞥂])")`:                                          "a regular expression that ignores case must consist of ASCII characters",
		`true` + strings.Repeat(" || [1].exists(a, true)", 17):                       "it has more than 16 macros, such as exists() or map(); split the rule",
	} {
		_, err := Compile("", text)
		mistake, ok := errors.AsType[*ExpressionError](err)
		if !ok || !strings.Contains(mistake.Error(), want) {
			t.Errorf("Compile(%.40q) error = %v, want %q", text, err, want)
		}
	}
}

// TestCompileIsDeterministic checks that the output is always the same. Any difference
// would change the sidecar configuration in each reconcile.
func TestCompileIsDeterministic(t *testing.T) {
	const text = `has(caller.claims.a) && caller.claims.groups.exists(g, g == "x" || g in ["a", "b"]) ? request.skill != "" : caller.namespace in ["c", "d"]`
	first, err := Compile("", text)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if next, err := Compile("", text); err != nil || !bytes.Equal(first, next) {
			t.Fatalf("Compile() differs, %v", err)
		}
	}
}

// TestCompileIsBounded checks the memory that expressions need at the bounds. Before the bounds, the
// first ones needed seconds and gigabytes, and twice as much for each further repetition.
func TestCompileIsBounded(t *testing.T) {
	for _, text := range []string{
		"[1]" + strings.Repeat(".map(a, {a: a})", 12) + " == []",
		"[1]" + strings.Repeat(".map(a, [a])", 60) + " == []",
		filled("", "type({1:", "1", "})", "==1"),
		filled("", "type(", "1", ")", "==1"),
		filled("", "[1].map(a,", "1", ")", "==[]"),
		filled(`"a".matches("(?i)[`, "", "", "B-𞥂", `]")`),
		filled(`"a".matches("(`, "", "", "[a-z]", `){1000}")`),
		// These compile, or fail in the type checker.
		filled("true", "", "", "||[]==[]", ""),
		filled("true", "", "", "||1==1", ""),
		filled("true", "", "", `||1=="a"`, ""),
		filled("true", "", "", "||caller.x", ""),
		filled("[", "", "", "{},", "]==[]"),
		filled("[", "", "", "[[[[[[[]]]]]]],", "]==[]"),
		"true" + strings.Repeat("||[].map(a,[].map(a,[[a]]))==[]", 8),
		"[]" + strings.Repeat("==[].filter(a,[[a]]==[[a]])", 16),
	} {
		var err error
		size := allocated(func() { _, err = compile(text, ofCalls, nil) })
		if _, ok := errors.AsType[*ExpressionError](err); err != nil && !ok {
			t.Errorf("compile(%.40q): %v", text, err)
		}
		if size > maxAllocated {
			t.Errorf("compile(%.40q) allocates %d bytes", text, size)
		}
	}
}

// maxAllocated bounds the bytes that compile allocates. Its time is roughly proportional to them.
const maxAllocated = 32 << 20

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// filled returns a text of at most maxLength bytes: before, opening repeated, middle, closing
// repeated as often, after.
func filled(before, opening, middle, closing, after string) string {
	count := (maxLength - len(before) - len(middle) - len(after)) / (len(opening) + len(closing))
	return before + strings.Repeat(opening, count) + middle + strings.Repeat(closing, count) + after
}

// TestCompileOnce checks that an expression is compiled once, whether it is valid or not.
func TestCompileOnce(t *testing.T) {
	for _, text := range []string{`caller.namespace == "once"`, `caller.namespace = "once"`} {
		_, _ = Compile("", text)
		allocations := testing.AllocsPerRun(10, func() { _, _ = Compile("", text) })
		if allocations > 5 {
			t.Errorf("Compile(%q) allocates %.0f times after the first call", text, allocations)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		`has(caller.claims.a) && caller.claims.groups.exists(g, g in ["a", "b"]) ? request.skill != "" : type(1) == int`,
		`[1].map(a, {"a": a}).filter(b, b == {}).exists_one(c, caller.principal.matches("^(?i)[a-z]{1,8}$"))`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var err error
		size := allocated(func() { _, err = compile(text, ofCalls, nil) })
		if _, ok := errors.AsType[*ExpressionError](err); err != nil && !ok || err != nil && strings.Contains(err.Error(), "the compiler failed") {
			t.Error(err)
		}
		if size > maxAllocated {
			t.Errorf("%d bytes allocated", size)
		}
	})
}
