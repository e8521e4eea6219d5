// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gctuning

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// fileMemory returns the resident memory of files, in KiB.
func fileMemory(t *testing.T) (size int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(string(status), "RssFile:")
	if _, err := fmt.Sscan(line, &size); !found || err != nil {
		t.Fatalf("no RssFile in %s: %v", status, err)
	}
	return size
}

func TestPagesOfTheProgramLeaveTheMemory(t *testing.T) {
	before := fileMemory(t)
	unmapProgram()
	if after := fileMemory(t); after > before*3/4 {
		t.Errorf("the files have %d KiB, before %d KiB", after, before)
	}
}
