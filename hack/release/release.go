// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	run    runner
	signer signer
	// log receives a line for each step that is done.
	log io.Writer
}

// newRelease returns a release of the source tree in the current directory.
func newRelease(ctx context.Context, version, repository, output string) (*release, error) {
	if !versionPattern.MatchString(version) {
		return nil, fmt.Errorf("version %q is not a semantic version with a leading v: set VERSION to one such as v0.1.0", version)
	}
	if repository == "" {
		return nil, errors.New("repository is empty: name a prefix of images such as " + publicRepository)
	}
	r := &release{root: ".", output: output, version: version, repository: repository, run: runProgram, log: os.Stdout}
	described, err := r.run(ctx, r.root, "git", "log", "-1", "--format=%H %cI")
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

// isCommitted returns an error if the source tree differs from its commit, because the labels of the images name that commit.
func (r *release) isCommitted(ctx context.Context) error {
	changed, err := r.run(ctx, r.root, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the source tree differs from commit %s: commit or remove the changes\n%s", r.commit, changed)
	}
	return nil
}

// published lists the objects of a release in the registry.
type published struct {
	images []imageIndex
	chart  artifact
}

// publish builds everything before it pushes anything. The images are in the registry, with their signatures, before the chart that
// names them is. A run that fails leaves no chart with missing images, and the next run for the same commit completes it.
func (r *release) publish(ctx context.Context) (published, error) {
	images, chart, err := r.buildInstallation(ctx)
	if err != nil {
		return published{}, err
	}
	if err := r.writeArchives(ctx); err != nil {
		return published{}, err
	}
	if err := r.writeProvenance(); err != nil {
		return published{}, err
	}
	if err := r.refuseOtherImages(ctx, images); err != nil {
		return published{}, err
	}
	if err := r.pushImages(ctx, images); err != nil {
		return published{}, err
	}
	if err := r.signImages(ctx, images); err != nil {
		return published{}, err
	}
	pushed := published{images: images}
	if pushed.chart, err = r.pushChart(ctx, chart); err != nil {
		return published{}, err
	}
	if err := r.signChart(ctx, pushed.chart); err != nil {
		return published{}, err
	}
	if err := r.writeDigests(pushed); err != nil {
		return published{}, err
	}
	if err := r.writeChecksums(); err != nil {
		return published{}, err
	}
	return pushed, r.signChecksums(ctx)
}

// publishInstallation publishes what an installation needs: the images, the chart and install.yaml, without signatures and archives.
func (r *release) publishInstallation(ctx context.Context) error {
	images, chart, err := r.buildInstallation(ctx)
	if err != nil {
		return err
	}
	if err := r.pushImages(ctx, images); err != nil {
		return err
	}
	_, err = r.pushChart(ctx, chart)
	return err
}

// buildInstallation builds the images and writes the files that name them: the package of the chart, whose file it returns,
// install.yaml and samples.yaml.
func (r *release) buildInstallation(ctx context.Context) (images []imageIndex, chart string, err error) {
	if err := os.RemoveAll(r.output); err != nil {
		return nil, "", fmt.Errorf("remove the files of the last run: %w", err)
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return nil, "", fmt.Errorf("create %s: %w", r.output, err)
	}
	if images, err = r.buildImages(ctx); err != nil {
		return nil, "", err
	}
	if err := r.writeManifests(ctx, images); err != nil {
		return nil, "", err
	}
	chart, err = r.packageChart(ctx, images)
	return images, chart, err
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

// runner runs a program in a directory, and returns its standard output. An error has its standard error.
type runner func(ctx context.Context, dir, program string, args ...string) (string, error)

// runProgram is a runner.
func runProgram(ctx context.Context, dir, program string, args ...string) (string, error) {
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
func (r *release) reportf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.log, format+"\n", args...)
}
