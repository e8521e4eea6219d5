// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/manager").Run()) }

// testTimeout bounds a test.
const testTimeout = 5 * time.Minute

// TestRequestsOfTheManager checks O1, O2 and O3: the requests to the API server are counted, so they are the same on every
// machine.
func TestRequestsOfTheManager(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	p, err := startPlane(programs.Path("cmd/manager"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	m, err := p.run(ctx, audited)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.End)

	all, err := p.requestsOf(ctx, m, everyChange())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range everyChange() {
		if diff := cmp.Diff(c.want, all[i]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	const agents = 50
	namespace, err := p.create(ctx, agents)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.programmed(ctx, namespace, agents, func(int) {}); err != nil {
		t.Fatal(err)
	}
	got, err := p.resync(ctx, m, namespace)
	if err != nil || len(got) > 0 {
		t.Errorf("reconciles of %d Agents in sync sent %q, %v; want no request", agents, got, err)
	}
}

func TestRowsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range rows {
		if !strings.Contains(string(page), "\n| "+each.id+" | ") {
			t.Errorf("docs/reference/benchmarks.md does not describe %s", each.id)
		}
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, arguments := range [][]string{{"-row", "O99"}, {"-o", "xml"}, {"-fast"}, {"-agents", "0"}, {"-many", "1"}} {
		if err := run(t.Context(), arguments, io.Discard, io.Discard); err == nil {
			t.Errorf("run(%s) has no error", strings.Join(arguments, " "))
		}
	}
}
