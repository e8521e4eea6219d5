// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// The digest of the chart depends on the times in the package, which must all be the time of the commit. The test runs only after
// `make release-tools`.
func TestTwoRunsPushTheChartWithEqualDigests(t *testing.T) {
	r := testRelease(t)
	helm, err := filepath.Abs("../../bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(helm); err != nil {
		t.Skip("bin/helm does not exist: make release-tools builds it")
	}
	r.helm = helm
	var charts [2]artifact
	for i := range charts {
		pkg, err := r.packageChart(t.Context(), testImages)
		if err != nil {
			t.Fatal(err)
		}
		if charts[i], err = r.pushChart(t.Context(), pkg); err != nil {
			t.Fatal(err)
		}
		if err := r.tagChart(t.Context(), charts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if charts[0] != charts[1] {
		t.Errorf("two runs push %v and %v", charts[0], charts[1])
	}
	reference, err := name.ParseReference(r.repository + "/charts/a2a-operator:1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := chart.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if created := manifest.Annotations["org.opencontainers.image.created"]; created != r.date.Format(time.RFC3339) {
		t.Errorf("the chart was created at %q, want the time of the commit", created)
	}
	pkg, err := os.Open(filepath.Join(r.output, "a2a-operator-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pkg.Close() }()
	plain, err := gzip.NewReader(pkg)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(r.date) {
			t.Errorf("%s has the time %s, want that of the commit", header.Name, header.ModTime)
		}
	}
}
