// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromLog(t *testing.T) {
	tests := map[string]struct{ log, want string }{
		"passes": {"==> testing\nok  \tmod/a\t0.1s\n?   \tmod/b\t[no test files]\n", ""},
		"fails": {
			"ok  \tmod/a\t0.1s\n2026/11/21 noise\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        a_test.go:7: got 1\n            want 2\nmore noise\nFAIL\nFAIL\tmod/c\t0.2s\nok  \tmod/d\t0.1s",
			"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        a_test.go:7: got 1\n            want 2\nFAIL\tmod/c\t0.2s",
		},
		"does not compile": {
			"# github.com/x/y [github.com/x/y.test]\ny/a_test.go:3:1: undefined: z\nFAIL\tmod/c [build failed]\n",
			"# github.com/x/y [github.com/x/y.test]\ny/a_test.go:3:1: undefined: z\nFAIL\tmod/c [build failed]",
		},
		"panics": {
			"panic: oops\n\ngoroutine 1 [running]:\nmain.f()\nFAIL\tmod/c\t0.2s",
			"panic: oops\n\ngoroutine 1 [running]:\nmain.f()\nFAIL\tmod/c\t0.2s",
		},
		"Ginkgo": {
			"  [FAILED] Expected\n      <int>: 1\n  to equal\n      <int>: 2\n  In [It] at: a_test.go:3\n-----\nnoise\n",
			"  [FAILED] Expected\n      <int>: 1\n  to equal\n      <int>: 2\n  In [It] at: a_test.go:3",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(fromLog(strings.Split(test.log, "\n")), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("fromLog() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromReport(t *testing.T) {
	got, err := fromReport([]byte(`<testsuites><testsuite>
		<testcase name="[It] works" status="passed"></testcase>
		<testcase name="[It] breaks" status="failed"><failure message="Expected&#xA;1 to equal 2" type="failed">[FAILED] Expected
1 to equal 2
In [It] at: /src/a_test.go:9 @ 11/21/26 12:00:00</failure><system-err>long</system-err></testcase>
		<testcase name="[It] panics" status="panicked"><error message="oops" type="panicked"></error></testcase>
	</testsuite></testsuites>`))
	want := []string{
		"--- FAIL: [It] breaks", "    Expected", "    1 to equal 2", "    In [It] at: /src/a_test.go:9",
		"--- FAIL: [It] panics", "    oops",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("fromReport() (-want +got):\n%s%v", diff, err)
	}
}

func TestShorten(t *testing.T) {
	got := shorten([]string{"a", strings.Repeat("é", 300), "c", "d"}, 2)
	want := []string{"a", strings.Repeat("é", 200) + "...", "... and 2 more lines; the step's log has them all"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shorten() (-want +got):\n%s", diff)
	}
}
