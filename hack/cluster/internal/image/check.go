// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Dockerfile is a stage of a Dockerfile and the directory that it copies from.
type Dockerfile struct {
	Path    string
	Context string
	Target  string
}

// Check builds a Dockerfile with buildah, and returns its differences from the image that Build makes of the program. It
// needs root, and removes the files that it creates.
func Check(ctx context.Context, program Program, dockerfile Dockerfile) ([]string, error) {
	directory, err := os.MkdirTemp("", "a2a-operator-image-check-*")
	if err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	for _, path := range absentPaths() {
		defer func() { _ = os.RemoveAll(path) }()
	}
	theirs, err := buildDockerfile(ctx, dockerfile, directory)
	if err != nil {
		return nil, err
	}
	ours, err := buildArchive(program, directory)
	if err != nil {
		return nil, err
	}
	return compare(ours, theirs), nil
}

func buildArchive(program Program, directory string) (content, error) {
	built, err := Build(program)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = built.Close() }()
	path := filepath.Join(directory, "ours.tar")
	archive, err := os.Create(path)
	if err != nil {
		return content{}, fmt.Errorf("create archive: %w", err)
	}
	defer func() { _ = archive.Close() }()
	if err := built.WriteArchive(archive); err != nil {
		return content{}, err
	}
	return readArchive(path)
}

// buildDockerfile builds without a daemon, in a storage that needs no support of the kernel.
func buildDockerfile(ctx context.Context, dockerfile Dockerfile, directory string) (content, error) {
	const name = "localhost/image-check:dev"
	archive := filepath.Join(directory, "theirs.tar")
	storage := []string{"--root", filepath.Join(directory, "root"), "--runroot", filepath.Join(directory, "run"), "--storage-driver", "vfs"}
	build := append(slices.Clone(storage), "build", "--isolation", "chroot", "--build-arg", "TARGETARCH="+runtime.GOARCH,
		"--file", dockerfile.Path, "--target", dockerfile.Target, "--tag", name, dockerfile.Context)
	push := append(slices.Clone(storage), "push", name, "oci-archive:"+archive)
	for _, arguments := range [][]string{build, push} {
		if printed, err := exec.CommandContext(ctx, "buildah", arguments...).CombinedOutput(); err != nil {
			return content{}, fmt.Errorf("run buildah %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(printed)))
		}
	}
	return readArchive(archive)
}

// absentPaths returns the fixed paths of buildah, for its cache and a lock, that do not exist yet.
func absentPaths() []string {
	return slices.DeleteFunc([]string{"/var/lib/containers", "/etc/cni"}, func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	})
}

// compare returns a line for every difference.
func compare(ours, theirs content) []string {
	var differences []string
	names := slices.Sorted(maps.Keys(ours.entries))
	for name := range theirs.entries {
		if _, ok := ours.entries[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		mine, here := ours.entries[name]
		other, there := theirs.entries[name]
		switch {
		case !here:
			differences = append(differences, name+": only in the Dockerfile's image: "+other.String())
		case !there:
			differences = append(differences, name+": only in ours: "+mine.String())
		case mine != other:
			differences = append(differences, name+": ours "+mine.String()+", the Dockerfile's "+other.String())
		}
	}
	for _, field := range []struct {
		name        string
		ours, their any
	}{
		{"config", startConfig(ours.config), startConfig(theirs.config)},
		{"platform", ours.system.OS + "/" + ours.system.Architecture, theirs.system.OS + "/" + theirs.system.Architecture},
	} {
		if !reflect.DeepEqual(field.ours, field.their) {
			differences = append(differences, fmt.Sprintf("%s: ours %+v, the Dockerfile's %+v", field.name, field.ours, field.their))
		}
	}
	return differences
}

// startConfig returns the configuration without the members that only name the builder.
func startConfig(config ocispec.ImageConfig) ocispec.ImageConfig {
	config.Labels = maps.Clone(config.Labels)
	delete(config.Labels, "io.buildah.version")
	if len(config.Labels) == 0 {
		config.Labels = nil
	}
	return config
}
