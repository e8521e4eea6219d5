// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/image"
)

// loadOwnImages imports the two images of the cluster itself.
func (c *Cluster) loadOwnImages(ctx context.Context) error {
	for name, binary := range map[string]string{component.PauseImage: "pause", component.CoreDNSImage: "coredns"} {
		parsed, err := image.ParseName(name)
		if err != nil {
			return err
		}
		if _, err := c.LoadImage(ctx, image.Program{Name: parsed, Binary: c.config.Builder.Path(binary)}); err != nil {
			return err
		}
	}
	return nil
}

// LoadImage builds the image of a program and imports it into the node, unless the node has exactly this image already.
// It returns the image's digest.
func (c *Cluster) LoadImage(ctx context.Context, program image.Program) (string, error) {
	built, err := image.Build(program)
	if err != nil {
		return "", fmt.Errorf("build image %s: %w", program.Name, err)
	}
	defer func() { _ = built.Close() }()
	present, err := c.containerd.ImageDigest(ctx, program.Name.String())
	if err != nil {
		return "", err
	}
	if present == built.Digest() {
		return built.Digest(), nil
	}
	return built.Digest(), c.config.Reporter.Step(ctx, "image "+program.Name.String(), func(ctx context.Context) error {
		archive, err := os.CreateTemp("", "a2a-operator-image-*.tar")
		if err != nil {
			return fmt.Errorf("create archive: %w", err)
		}
		defer func() { _ = os.Remove(archive.Name()) }()
		if err := built.WriteArchive(archive); err != nil {
			_ = archive.Close()
			return err
		}
		if err := archive.Close(); err != nil {
			return fmt.Errorf("close archive: %w", err)
		}
		return c.containerd.Import(ctx, archive.Name())
	})
}

// LoadArchive imports an image archive into the node.
func (c *Cluster) LoadArchive(ctx context.Context, path string) error {
	return c.config.Reporter.Step(ctx, "image archive "+path, func(ctx context.Context) error {
		return c.containerd.Import(ctx, path)
	})
}
