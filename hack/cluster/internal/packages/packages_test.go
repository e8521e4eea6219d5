// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestMissingPackagesAreReportedWithTheInstallCommand(t *testing.T) {
	set := Set{
		{Name: "bash", Programs: []string{"sh"}},
		{Name: "first", Programs: []string{"no-such-program"}},
		{Name: "second", Plugins: []string{"no-such-plugin"}},
		{Name: "third", Files: []string{"/no/such/file"}},
	}
	if got := set.Missing(); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("Missing = %q", got)
	}
	err := set.Ensure(t.Context(), false, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "apt-get update && apt-get install -y --no-install-recommends first second third") {
		t.Errorf("Ensure = %v, want the command that installs them", err)
	}
	if err := (Set{{Name: "bash", Programs: []string{"sh"}}}).Ensure(t.Context(), false, io.Discard); err != nil {
		t.Errorf("Ensure of what is there = %v", err)
	}
}
