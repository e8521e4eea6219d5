// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	_ "github.com/a2a-operator/a2a-operator/internal/operator" // registers the metrics of the manager
)

// own matches names of the metrics of this product on the pages, and foreign matches names
// of the metrics of libraries.
var (
	own     = regexp.MustCompile(`\ba2a_[a-z0-9_]+_(?:total|seconds|info|bytes|callers|streams|keys|configs|flight|queued)\b`)
	foreign = regexp.MustCompile("`((?:controller_runtime|workqueue|rest_client|leader_election)_[a-z_]+)`")
)

// TestMetricsOnThePagesExist checks that docs/reference/metrics.md lists each metric that a page
// names, and that the manager serves the metrics of libraries that it lists.
func TestMetricsOnThePagesExist(t *testing.T) {
	reference := read(t, "../../docs/reference/metrics.md")
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	named := 0
	for _, page := range pages {
		for _, name := range own.FindAllString(read(t, page), -1) {
			named++
			if !strings.Contains(reference, "| `"+name+"` |") {
				t.Errorf("%s names %s, which is not in docs/reference/metrics.md", page, name)
			}
		}
	}
	if named < 30 {
		t.Errorf("the pages name %d metrics", named)
	}

	served := map[string]bool{}
	descriptions := make(chan *prometheus.Desc)
	go func() {
		metrics.Registry.(prometheus.Collector).Describe(descriptions)
		close(descriptions)
	}()
	for d := range descriptions {
		_, rest, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		served[name] = true
	}
	for _, found := range foreign.FindAllStringSubmatch(reference, -1) {
		if !served[found[1]] {
			t.Errorf("docs/reference/metrics.md names %s, which the manager does not serve", found[1])
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
