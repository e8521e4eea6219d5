// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKubernetesVersionsAgree compares the table of docs/reference/support.md with the chart,
// the API servers that the tests build, and the nightly workflow.
func TestKubernetesVersionsAgree(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| (1\.[0-9]+) \| ([^|]+) \| \[([0-9-]+)\]\(https://kubernetes\.io/releases/(1\.[0-9]+)/\) \| ([0-9-]+) \|$`).
		FindAllStringSubmatch(read(t, "../../docs/reference/support.md"), -1)
	if len(rows) < 2 {
		t.Fatalf("the page lists %d versions", len(rows))
	}
	tests := map[string][]string{}
	for _, row := range rows {
		minor, tested := row[1], strings.Split(row[2], ",")[0]
		tests[tested] = append(tests[tested], minor)
		ended, supported := date(t, row[3]), date(t, row[5])
		if row[4] != minor || !supported.Equal(ended.AddDate(1, 0, 0)) {
			t.Errorf("Kubernetes %s: the link is of %s, the end of life is %s, the end of the support %s, want a year later", minor, row[4], row[3], row[5])
		}
	}

	oldest := rows[0][1]
	if chart := regexp.MustCompile(`(?m)^kubeVersion: ">=(1\.[0-9]+)\.0-0"$`).FindStringSubmatch(read(t, "../../charts/a2a-operator/Chart.yaml")); chart == nil || chart[1] != oldest {
		t.Errorf("the page names %s as the oldest version, the chart names %v", oldest, chart)
	}
	for _, page := range []string{"README.md", "docs/how-to/install.md", "docs/tutorials/quickstart.md"} {
		if !strings.Contains(read(t, filepath.Join("../..", page)), "Kubernetes "+oldest+" or newer") {
			t.Errorf("%s does not ask for Kubernetes %s or newer", page, oldest)
		}
	}

	var built []string
	modules, err := filepath.Glob("../../hack/cluster/apiserver/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range modules {
		built = append(built, filepath.Base(filepath.Dir(module)))
	}
	var nightly []string
	matrix := regexp.MustCompile(`(?m)^ +kubernetes: \[(.*)\]$`).FindStringSubmatch(read(t, "../../.github/workflows/nightly.yml"))
	for _, quoted := range regexp.MustCompile(`"(1\.[0-9]+)"`).FindAllStringSubmatch(matrix[1], -1) {
		nightly = append(nightly, quoted[1])
	}
	if want := tests["every night"]; !slices.Equal(built, want) || !slices.Equal(nightly, want) {
		t.Errorf("the page has %v every night, hack/cluster/apiserver builds %v, the workflow runs %v", want, built, nightly)
	}
	if !slices.Contains(nightly, oldest) {
		t.Errorf("no workflow runs the oldest version, %s", oldest)
	}
	ofCluster := regexp.MustCompile(`k8s\.io/kubernetes v(1\.[0-9]+)\.`).FindStringSubmatch(read(t, "../../hack/cluster/kubernetes/go.mod"))[1]
	if !slices.Equal(tests["each change"], []string{ofCluster}) {
		t.Errorf("the page has %v for each change, hack/cluster builds %s", tests["each change"], ofCluster)
	}
	for tested := range maps.Keys(tests) {
		if !slices.Contains([]string{"each change", "every night", "none"}, tested) {
			t.Errorf("the page has the tests %q", tested)
		}
	}
}

func date(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
