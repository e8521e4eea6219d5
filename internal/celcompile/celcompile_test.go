// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package celcompile

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// The tests of internal/a2a/authz evaluate valid expressions.

func TestCompileNamesMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "Syntax error",
		`caller.nmespace == "a"`:             "line 1, column 1: undeclared reference to 'caller'; the variables are caller.principal, caller.namespace, caller.claims",
		`request.path == "a"`:                "line 1, column 1: undeclared reference to 'request'; the variables are",
		`principal == "a"`:                   "line 1, column 1: undeclared reference to 'principal'",
		"request.skill == 'a' &&\n  caller.": "line 2, column 10: Syntax error",
		`caller.namespace`:                   "it has type string, must be a bool",
		`caller.claims.admin`:                "it has type dyn, must be a bool; add a comparison",
		`caller.namespace == 1`:              "line 1, column 18: found no matching overload for '_==_' applied to '(string, int)'",
		`caller.principal.matches("[")`:      "missing closing ]",
		`now() > timestamp("x")`:             "undeclared reference to 'now'",
		strings.Repeat("(", 500):             "expression recursion limit exceeded",
	} {
		_, err := Compile(text)
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
	first, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if next, err := Compile(text); err != nil || !bytes.Equal(first, next) {
			t.Fatalf("Compile() differs, %v", err)
		}
	}
}
