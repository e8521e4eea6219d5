// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

func TestMain(m *testing.M) { os.Exit(programs.Built(m, commands...).Run()) }

func TestInvalidFlagsAreErrors(t *testing.T) {
	chosen, err := choose("R2,R1")
	if err != nil || len(chosen) != 2 || chosen[0].id != "R1" || chosen[1].id != "R2" {
		t.Errorf("choose() = %v, %v, want R1 and R2", chosen, err)
	}
	for _, arguments := range [][]string{{"-row", "R99"}, {"-o", "xml"}, {"-fast"}} {
		if err := run(t.Context(), arguments, io.Discard, io.Discard); err == nil {
			t.Errorf("run(%s) has no error", strings.Join(arguments, " "))
		}
	}
}

func TestRowsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range rows {
		if !strings.Contains(string(page), "\n| "+each.id+" |") {
			t.Errorf("docs/reference/benchmarks.md does not describe %s", each.id)
		}
	}
}

// testTimeout bounds a test. The tests check that the rows can be measured, and not whether the figures meet their
// goals.
const testTimeout = 10 * time.Minute

func TestEveryRowMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("starts managers")
	}
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	b := &bench{plan: short, dir: t.TempDir(), profiles: t.TempDir(), progress: t.Output(), program: func(name string) string {
		for _, command := range commands {
			if path.Base(command) == name {
				return programs.Path(command)
			}
		}
		panic("no command " + name)
	}}
	r, err := b.measure(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range r.Results {
		if each.Failure != "" {
			t.Errorf("%s was not measured: %s", each.Row, each.Failure)
		}
		for _, value := range []float64{each.Ours, each.Theirs, each.Ratio} {
			if math.IsNaN(value) || math.IsInf(value, 0) {
				t.Errorf("%s, %s: %v is no figure", each.Row, each.What, value)
			}
		}
	}
	for _, subject := range []string{"R1-list", "R1-search", "R1-match", "R3-all", "R3-one-namespace", "R6-start", "R6-start-without-registry", "R9-corpus", "R9-2000"} {
		checkProfiles(t, filepath.Join(b.profiles, subject+"-[0-9]*.pprof"))
	}
	if len(r.Results) < len(rows) {
		t.Errorf("%d results of %d rows", len(r.Results), len(rows))
	}
}

// checkProfiles reports an error unless the pattern matches files that are all profiles, which are compressed with gzip.
func checkProfiles(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Errorf("no profile %s: %v", pattern, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
			t.Errorf("%s is not a profile of %d bytes: %v", file, len(text), err)
		}
	}
}
