// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// This test runs only after `make release-tools`, because the build of cosign takes minutes.
func TestCosignVerifiesWhatTheReleaseSigns(t *testing.T) {
	cosign, err := filepath.Abs("../../bin/cosign")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cosign); err != nil {
		t.Skip("bin/cosign does not exist: make release-tools builds it")
	}
	r := testRelease(t)
	r.signer.cosign = runCosign(cosign)
	if err := r.signer.newKey(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	image := pushImage(t, r, program{"manager", "./cmd/manager"})
	for i, platform := range image.platforms {
		if err := os.MkdirAll(filepath.Dir(platform.sbom), 0o755); err != nil {
			t.Fatal(err)
		}
		sbom := `{"spdxVersion":"SPDX-2.3","SPDXID":"SPDXRef-DOCUMENT","name":"` + image.platforms[i].platform.architecture + `"}`
		if err := os.WriteFile(platform.sbom, []byte(sbom), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The test uses another image index instead of the chart, because a push of the chart needs helm.
	other := pushImage(t, r, program{"sidecar", "./cmd/sidecar"})
	pushed := published{images: []imageIndex{image}, chart: other.artifact}
	if err := r.writeProvenance(); err != nil {
		t.Fatal(err)
	}
	if err := r.writeChecksums(); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(t.Context(), pushed); err == nil {
		t.Error("an image without a signature is accepted")
	}
	if err := errors.Join(r.signImages(t.Context(), pushed.images), r.signChart(t.Context(), pushed.chart), r.signChecksums(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(t.Context(), pushed); err != nil {
		t.Errorf("verify() error = %v", err)
	}
	reference, err := name.NewDigest(image.reference())
	if err != nil {
		t.Fatal(err)
	}
	attached, err := remote.Referrers(reference)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := attached.IndexManifest(); err != nil || len(list.Manifests) != 2 {
		t.Errorf("the index has the referrers %+v, error = %v; want a signature and the provenance", list, err)
	}

	if err := os.WriteFile(r.checksums(), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(t.Context(), pushed); err == nil || !strings.Contains(err.Error(), "verify-blob") {
		t.Errorf("changed checksums: error = %v", err)
	}
	stranger := signer{cosign: r.signer.cosign}
	if err := stranger.newKey(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	r.signer.public = stranger.public
	if err := r.verify(t.Context(), pushed); err == nil || !strings.Contains(err.Error(), "cosign verify") {
		t.Errorf("another key: error = %v", err)
	}
}
