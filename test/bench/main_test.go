// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestInvalidFlagsAreErrors(t *testing.T) {
	chosen, err := choose("S2b,S1")
	if err != nil || len(chosen) != 2 || chosen[0].id != "S1" || chosen[1].id != "S2b" {
		t.Errorf("choose() = %v, %v, want S1 and S2b", chosen, err)
	}
	for _, arguments := range [][]string{{"-row", "S99"}, {"-o", "xml"}, {"-fast"}} {
		if err := run(t.Context(), arguments, io.Discard, io.Discard); err == nil {
			t.Errorf("run(%s) has no error", strings.Join(arguments, " "))
		}
	}
}

func TestRowsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range rows {
		if !strings.Contains(string(page), "\n| "+each.id+" |") {
			t.Errorf("docs/reference/benchmarks.md does not describe %s", each.id)
		}
	}
}
