// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeManifests writes install.yaml, with the CRDs, the roles and the manager, and samples.yaml. Both name the images by digest.
func (r *release) writeManifests(ctx context.Context, images []imageIndex) error {
	version, err := r.chartVersion()
	if err != nil {
		return err
	}
	for _, manifest := range []struct{ file, source, prefix, tag string }{
		{"install.yaml", "config/default", publicRepository + "/", version},
		{"samples.yaml", "config/samples", "a2a-operator/", "dev"},
	} {
		text, err := r.run(ctx, r.root, "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", manifest.source)
		if err != nil {
			return err
		}
		pinned, err := pinManifest(text, manifest.prefix, manifest.tag, images)
		if err != nil {
			return fmt.Errorf("pin images of %s: %w", manifest.source, err)
		}
		if err := os.WriteFile(filepath.Join(r.output, manifest.file), []byte(pinned), 0o644); err != nil {
			return err
		}
		r.reportf("manifest %s", filepath.Join(r.output, manifest.file))
	}
	return nil
}

// pinManifest replaces image names of the form prefix+NAME:tag by the published images. It returns an error if the text contains no
// such name, or a name for which there is no published image.
func pinManifest(text, prefix, tag string, images []imageIndex) (string, error) {
	found := false
	for _, image := range images {
		source := prefix + image.program.name + ":" + tag
		found = found || strings.Contains(text, source)
		text = strings.ReplaceAll(text, source, image.reference())
	}
	if !found {
		return "", fmt.Errorf("no image %sNAME:%s is in it", prefix, tag)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "image") && strings.Contains(line, prefix) && !strings.Contains(line, "@sha256:") {
			return "", fmt.Errorf("an image stays without a digest: %s", strings.TrimSpace(line))
		}
	}
	return text, nil
}
