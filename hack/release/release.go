// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// publicRepository is the prefix of the published images, which the chart and config/ name.
const publicRepository = "ghcr.io/a2a-operator"

// sourceURL is the address of the source code.
const sourceURL = "https://github.com/a2a-operator/a2a-operator"

// versionPattern is semantic versioning with a "v", without build metadata, which a tag of an image cannot hold.
var versionPattern = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

// release is one version and what its steps need.
type release struct {
	// root is the root of the source tree, output the directory of the files that belong to the release.
	root, output string
	// version has a leading "v".
	version string
	// repository is the prefix of the images.
	repository string
	// commit is the commit of the source tree, and date its time, which replaces all times in what is published.
	commit string
	date   time.Time
	helm   string
	build  builder
	signer signer
}

func newRelease(ctx context.Context, root, version, repository, output string) (*release, error) {
	if !versionPattern.MatchString(version) {
		return nil, fmt.Errorf("version %q is not a semantic version with a leading v: set VERSION to one such as v0.1.0", version)
	}
	if repository == "" {
		return nil, errors.New("repository is empty: name a prefix of images such as " + publicRepository)
	}
	r := &release{root: root, output: output, version: version, repository: repository}
	described, err := commandOutput(ctx, root, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return nil, err
	}
	commit, date, _ := strings.Cut(strings.TrimSpace(described), " ")
	r.commit = commit
	if r.date, err = time.Parse(time.RFC3339, date); err != nil {
		return nil, fmt.Errorf("read the date of commit %s: %w", commit, err)
	}
	r.date = r.date.UTC()
	return r, nil
}

// published lists the objects of a release in the registry.
type published struct {
	images []pushedImage
	chart  artifact
}

// publish builds and pushes everything, and signs it at the end, so that an incomplete release has no signature.
func (r *release) publish(ctx context.Context) (published, error) {
	pushed, err := r.push(ctx)
	if err != nil {
		return published{}, err
	}
	return pushed, r.sign(ctx, pushed)
}

// push builds everything, pushes the images and the chart, and writes the files of the release.
func (r *release) push(ctx context.Context) (published, error) {
	if err := os.RemoveAll(r.output); err != nil {
		return published{}, fmt.Errorf("remove the files of the last run: %w", err)
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return published{}, fmt.Errorf("create %s: %w", r.output, err)
	}
	images, err := r.publishImages(ctx)
	if err != nil {
		return published{}, err
	}
	chart, err := r.publishChart(ctx, images)
	if err != nil {
		return published{}, err
	}
	pushed := published{images: images, chart: chart}
	if err := r.writeManifests(ctx, images); err != nil {
		return published{}, err
	}
	if err := r.writeArchives(ctx); err != nil {
		return published{}, err
	}
	if err := r.writeProvenance(); err != nil {
		return published{}, err
	}
	if err := r.writeDigests(pushed); err != nil {
		return published{}, err
	}
	return pushed, r.writeChecksums()
}

// writeDigests lists the published objects with their digests.
func (r *release) writeDigests(pushed published) error {
	var list strings.Builder
	for _, image := range pushed.images {
		fmt.Fprintln(&list, image.reference())
		for _, platform := range image.platforms {
			fmt.Fprintf(&list, "%s %s\n", platform.reference(), platform.platform)
		}
	}
	fmt.Fprintln(&list, pushed.chart.reference())
	return os.WriteFile(filepath.Join(r.output, "digests.txt"), []byte(list.String()), 0o644)
}

// artifact is an object in a registry.
type artifact struct {
	repository, digest string
}

func (a artifact) reference() string { return a.repository + "@" + a.digest }

// command runs a program in a directory, and adds its messages to an error.
func command(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return nil
}

// commandOutput runs a program in a directory, and returns what it prints.
func commandOutput(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, complaints.String())
	}
	return string(out), nil
}

// reportf prints a step that is done.
func reportf(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}
