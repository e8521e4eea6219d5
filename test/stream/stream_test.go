// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
)

// programs is the directory of the programs that all tests run.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(test(m))
}

func test(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "a2a-stream"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(programs) }()
	// Build before the tests start, because a build with an empty cache takes minutes and would count against -timeout.
	if err := build(context.Background(), programs); err != nil {
		panic(err)
	}
	return m.Run()
}

// TestScenarios runs each scenario with each store in its short form, as `make stream-check` and `make soak` do
// in full.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		for _, store := range s.stores {
			t.Run(s.name+" "+string(store), func(t *testing.T) {
				t.Parallel()
				r := newReport(s.name, string(store), 1, time.Now())
				err := s.run(t.Context(), &settings{dir: programs, store: store, seed: 1, short: true, dialects: client.Dialects, progress: t.Output()}, r)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.write(t.Output(), "text"); err != nil {
					t.Fatal(err)
				}
				for _, each := range r.wrong() {
					t.Error(each)
				}
			})
		}
	}
}
