// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acts runs ACTS, the conformance suite of the A2A project, against a sidecar. The suite is data, which this
// repository does not contain: ACTS names its directory.
package acts

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(programs.Built(m, "cmd/sidecar"))
}

// bindings are the bindings of a sidecar, with their names in the suite.
var bindings = []struct{ name, transport string }{{"JSON-RPC", "jsonrpc"}, {"REST", "rest"}, {"gRPC", "grpc"}}

// neverRun are tests that run in no pass, with the reason.
var neverRun = map[string]string{
	"CORE-CAP-002": "a sidecar always streams; no setting turns streams off",
}

// knownFailures are tests of level should or may that fail, with the reason.
var knownFailures = map[string]string{
	"VER-NEG-002": "with `versionCheck: Lenient`, the default, the name of a method determines the version of a request without `A2A-Version`",
}

// TestACTS runs every test of the suite over each of its bindings in each pass. A test of level must may not fail.
func TestACTS(t *testing.T) {
	all := load(t)
	found := &results{Tests: len(all)}
	t.Run("passes", func(t *testing.T) {
		for _, pass := range passes {
			t.Run(pass.name, func(t *testing.T) {
				t.Parallel()
				s := pass.start(t)
				for _, b := range bindings {
					counts := &row{Pass: pass.name, Binding: b.name}
					t.Run(b.name, func(t *testing.T) {
						for i := range all {
							if all[i].isOf(pass.name, b.transport) {
								found.run(t, s, &all[i], counts)
							}
						}
					})
					found.add(counts)
				}
			})
		}
	})
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") { // -run selects some of the tests
		return
	}
	found.checkNeverRun(t, all)
	found.compare(t)
}

// isOf reports whether a test is one of a binding in a pass. A test of a client calls no sidecar, so that it is one of
// JSON-RPC in the first pass.
func (of *test) isOf(pass, transport string) bool {
	if of.Steps[0].ClientResponse != nil {
		return pass == passes[0].name && transport == bindings[0].transport
	}
	return len(of.Transport) == 0 || slices.Contains(of.Transport, transport)
}

func (r *results) add(counts *row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Rows = append(r.Rows, counts)
}

// run runs a test over the binding of counts, and counts its result.
func (r *results) run(t *testing.T, s *server, of *test, counts *row) {
	t.Helper()
	if reason := s.skips(of); reason != "" {
		counts.Skipped++
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Skipped = note(r.Skipped, counts.Pass, reason, of.ID)
		return
	}
	t.Run(of.ID, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := (&run{test: of, server: s, caller: s.callers[counts.Binding], captured: maps.Clone(s.known)}).play(ctx)
		switch {
		case err == nil && knownFailures[of.ID] == "":
			counts.Passed++
		case err == nil:
			t.Errorf("%s passes: remove it from knownFailures", of.ID)
		case of.Level == "must" || knownFailures[of.ID] == "":
			t.Errorf("%s (%s) %s: %v", of.ID, of.Level, of.Name, err)
		default:
			counts.Failed++
			t.Logf("%s (%s) %s: %v", of.ID, of.Level, of.Name, err)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.Failed = note(r.Failed, counts.Pass, knownFailures[of.ID], of.ID)
		}
	})
}

// skips returns the reason why a test cannot run against a server, "" if it can.
func (s *server) skips(of *test) string {
	if reason := neverRun[of.ID]; reason != "" {
		return reason
	}
	for _, name := range slices.Sorted(maps.Keys(of.Preconditions.Capabilities)) {
		declared, _ := s.capabilities[name].(bool)
		switch of.Preconditions.Capabilities[name] {
		case declared:
		case true:
			return fmt.Sprintf("the sidecar does not have the capability `%s` in this pass", name)
		default:
			return fmt.Sprintf("the sidecar has the capability `%s` in this pass", name)
		}
	}
	switch {
	case of.Preconditions.Authentication && s.anonymous:
		return "the sidecar admits callers without a credential in this pass"
	case slices.Contains(of.RunnerRequirements, "webhook_endpoint") && s.webhooks == nil:
		return "a sidecar in a pod posts to no webhook at loopback, and the runner has no other address"
	case slices.Contains(of.RunnerRequirements, "auth_credentials") && s.known["otherUserTaskId"] == nil:
		return "the sidecar knows no credential in this pass, so that there are no two callers"
	}
	return ""
}

// checkNeverRun checks that only the tests of neverRun run in no pass.
func (r *results) checkNeverRun(t *testing.T, all []test) {
	t.Helper()
	skipped := map[string]int{}
	for _, g := range r.Skipped {
		for _, id := range g.Tests {
			skipped[id]++
		}
	}
	for i := range all {
		id := all[i].ID
		if runs := skipped[id] < len(passes); runs != (neverRun[id] == "") {
			t.Errorf("%s runs in a pass: %v, neverRun: %q", id, runs, neverRun[id])
		}
	}
}

// TestDefectsAreFound runs tests against an agent that answers everything with a completed task. The tests of other
// behaviors must fail.
func TestDefectsAreFound(t *testing.T) {
	all := load(t)
	s := startReduced(t)
	s.agent.defective = true
	for id := range strings.FieldsSeq("CORE-FAIL-001 CORE-MULTI-001 DM-ART-002") {
		i := slices.IndexFunc(all, func(of test) bool { return of.ID == id })
		if i < 0 {
			t.Fatalf("no test %s", id)
		}
		for name, caller := range s.callers {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := (&run{test: &all[i], server: s, caller: caller, captured: maps.Clone(s.known)}).play(ctx); err == nil {
				t.Errorf("%s over %s passes against a defective agent", id, name)
			}
			cancel()
		}
	}
}
