// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// checkDocumented checks that docs/reference/conditions.md lists the reasons of an Agent's conditions, in their sections
// and with their statuses.
func checkDocumented(t *testing.T, conditions []metav1.Condition) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	ofAll, _, _ := strings.Cut(string(text), "\n## ")
	for _, c := range withoutStalled(conditions) {
		if c.Type == a2av1alpha1.ConditionReady && c.Status != metav1.ConditionTrue {
			continue // Ready has the reason of another condition
		}
		_, section, _ := strings.Cut(string(text), "\n## "+c.Type+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		row := regexp.MustCompile("(?m)^\\| `" + c.Reason + "` \\| ([^|]+) \\|").FindStringSubmatch(ofAll + section)
		if row == nil || !slices.Contains(strings.Split(row[1], " or "), string(c.Status)) {
			t.Errorf("docs/reference/conditions.md does not say of %s that it may be %s because of %s", c.Type, c.Status, c.Reason)
		}
	}
}

// TestStallReasonsAreDocumented compares stallReasons with the table of docs/reference/conditions.md.
func TestStallReasonsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Stalled\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| ([^|]+) \\|$").FindAllStringSubmatch(section, -1) {
		for _, reason := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(row[2], -1) {
			listed[row[1]] = append(listed[row[1]], reason[1])
		}
	}
	if diff := cmp.Diff(stallReasons, listed); diff != "" {
		t.Errorf("docs/reference/conditions.md lists other reasons of Stalled (-code +page):\n%s", diff)
	}
}
